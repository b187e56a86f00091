#include "cli/status/status_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/render.h"
#include "cli/table.h"
#include "cli/time_text.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

std::string Age(int64_t ms) { return AgeText(std::chrono::milliseconds(ms)); }

// What the process is, as far as it can tell.
Cell RoleOf(const v1::GetStatusResponse& status) {
  if (status.leading()) {
    return {
        status.led_for_ms() > 0 ? absl::StrCat("leader, for ", Age(status.led_for_ms())) : "leader",
        Tone::kGood};
  }
  const char* role = status.led_before() ? "leader" : "standby";
  if (status.cut_off_ms() == 0) return {role};
  return {absl::StrCat(role, " (cut off from ZooKeeper since ", status.cut_off_ms() / 1'000,
                       " s: who leads is unknown)"),
          Tone::kBad};
}

Cell LeaderOf(const v1::GetStatusResponse& status) {
  if (status.leader_endpoint().empty()) return {"none is known", Tone::kWarning};
  return {absl::StrCat(
      Shown(status.leader_endpoint()),
      status.leader_epoch() == 0 ? "" : absl::StrCat(", epoch ", status.leader_epoch()))};
}

std::string ZookeeperText(const v1::ZookeeperMember& member) {
  std::string text = absl::StrCat(Shown(member.endpoint()), " ", Shown(member.state()));
  if (!member.reason().empty()) return absl::StrCat(text, " (", Shown(member.reason()), ")");
  return absl::StrFormat("%s (%.1f ms, %s)", text, member.latency_ms(),
                         Counted(member.connections(), "connection"));
}

std::string RelayText(const v1::RelayStatus& relay) {
  return absl::StrCat(Shown(relay.name()), ", ", Counted(relay.apps(), "app"),
                      relay.apps_behind() == 0
                          ? ""
                          : absl::StrCat(", ", relay.apps_behind(), " of them behind for ",
                                         Age(relay.behind_ms())));
}

template <typename Items, typename ToText>
void AddLines(const char* name, const Items& items, ToText to_text, FieldList& fields) {
  bool first = true;
  for (const auto& item : items) {
    fields.Add(first ? name : "", to_text(item));
    first = false;
  }
}

std::string ProblemsText(const v1::GetStatusResponse& status, bool colour) {
  if (status.problems().empty()) return "\nNothing is wrong.\n";
  Table table({"SEVERITY", "APP", "REASON", "WHAT"});
  for (const v1::Problem& problem : status.problems()) {
    const bool critical = problem.severity() == v1::Problem::CRITICAL;
    table.AddRow({critical ? Cell{"critical", Tone::kBad} : Cell{"warning", Tone::kWarning},
                  {problem.app().empty() ? "-" : Shown(problem.app())},
                  {Shown(problem.reason())},
                  {Shown(problem.message())}});
  }
  return absl::StrCat("\n", Counted(status.problems_size(), "problem"), ":\n",
                      table.Render(colour, kIndent));
}

// Why nothing can be said of the cell.
std::string Unknown(const v1::GetStatusResponse& asked) {
  return absl::StrCat(
      "\nHow the apps are is not known: ",
      asked.leader_endpoint().empty()
          ? "no leader is known"
          : absl::StrCat("the leader at ", Shown(asked.leader_endpoint()), " does not answer"),
      ".\n");
}

}  // namespace

std::string StatusText(const v1::GetStatusResponse& asked, const v1::GetStatusResponse* leader,
                       const std::string& where, bool colour) {
  const v1::GetStatusResponse& best = leader != nullptr ? *leader : asked;
  FieldList fields(colour);
  fields.Add("Cell", Shown(asked.cell()));
  fields.Add("Asked", Shown(where));
  fields.Add("Role", RoleOf(asked));
  fields.Add("Leader", LeaderOf(best));
  fields.Add("Version",
             asked.version() == best.version()
                 ? Shown(asked.version())
                 : absl::StrCat(Shown(asked.version()), "; of the leader ", Shown(best.version())));
  AddLines("ZooKeeper", best.zookeeper(), ZookeeperText, fields);
  std::vector<v1::RelayStatus> standbys, relays;
  for (const v1::RelayStatus& relay : best.relays()) {
    (relay.kind() == "standby" ? standbys : relays).push_back(relay);
  }
  AddLines("Standbys", standbys, RelayText, fields);
  AddLines("Relays", relays, RelayText, fields);
  if (best.leading()) fields.Add("Apps", absl::StrCat(best.apps()));
  return absl::StrCat(fields.Render(),
                      best.leading() || !best.problems().empty() ? ProblemsText(best, colour) : "",
                      best.leading() ? "" : Unknown(asked));
}

}  // namespace shardmanager::cli
