#include "cli/render.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/time_text.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

// "kv-3", or "kv-3(loading)" when there is more to say. `mark`: a primary is "kv-3*".
std::string ReplicaText(const v1::ReplicaStatus& replica, bool wide, bool mark) {
  std::string text = Shown(replica.server());
  if (mark && replica.role() == v1::PRIMARY) text += "*";
  if (replica.state() != "serving") absl::StrAppend(&text, "(", Shown(replica.state()), ")");
  if (wide) absl::StrAppend(&text, "@", replica.epoch());
  return text;
}

bool HasSecondaries(const v1::GetShardsResponse& response) {
  return std::any_of(response.shards().begin(), response.shards().end(), [](const auto& shard) {
    return std::any_of(shard.replicas().begin(), shard.replicas().end(),
                       [](const auto& replica) { return replica.role() == v1::SECONDARY; });
  });
}

std::string ReasonOf(const v1::ShardStatus& shard) {
  if (!shard.reason().empty()) return Shown(shard.reason());
  for (const v1::ReplicaStatus& replica : shard.replicas()) {
    if (!replica.reason().empty()) return Shown(replica.reason());
  }
  return "";
}

// "cpu 3.2/16 bytes 120".
std::string LoadsText(const v1::ServerStatus& server) {
  std::vector<std::string> parts;
  for (const v1::MetricUse& use : server.loads()) {
    parts.push_back(absl::StrFormat("%s %.4g", Shown(use.metric()), use.used()));
    if (use.capacity() > 0) absl::StrAppendFormat(&parts.back(), "/%.4g", use.capacity());
  }
  return absl::StrJoin(parts, " ");
}

}  // namespace

std::string Shown(const std::string& text) { return Printable(text); }

Cell OutOf(uint32_t have, uint32_t want) {
  return {absl::StrCat(have, "/", want),
          have >= want ? Tone::kPlain : (have == 0 ? Tone::kBad : Tone::kWarning)};
}

std::string VersionText(const v1::MapVersion& version) {
  return absl::StrCat(version.leader_epoch(), ".", version.sequence());
}

Cell StatusCell(const v1::AppStatus& app) {
  if (app.deleting()) return {"deleting", Tone::kWarning};
  if (app.conditions().empty()) return {"ok", Tone::kGood};
  const std::string first = Shown(app.conditions(0));
  const int more = app.conditions_size() - 1;
  return {more == 0 ? first : absl::StrCat(first, " (+", more, " more)"), Tone::kWarning};
}

Cell StateCell(const std::string& state) {
  constexpr std::array<std::pair<const char*, Tone>, 11> kTones = {{{"live", Tone::kGood},
                                                                    {"serving", Tone::kGood},
                                                                    {"lost", Tone::kBad},
                                                                    {"down", Tone::kBad},
                                                                    {"unserved", Tone::kBad},
                                                                    {"failed", Tone::kBad},
                                                                    {"unreachable", Tone::kBad},
                                                                    {"degraded", Tone::kWarning},
                                                                    {"loading", Tone::kWarning},
                                                                    {"dropping", Tone::kWarning},
                                                                    {"departed", Tone::kQuiet}}};
  const auto* found = std::find_if(kTones.begin(), kTones.end(),
                                   [&](const auto& tone) { return state == tone.first; });
  return {Shown(state), found == kTones.end() ? Tone::kPlain : found->second};
}

std::string AppsTable(const v1::GetAppsResponse& response, Style style) {
  std::vector<std::string> header = {"NAME",     "STRATEGY", "SHARDS", "SERVED",
                                     "REPLICAS", "SERVERS",  "MOVES"};
  if (style.wide) header.push_back("MAP");
  header.push_back("STATUS");
  Table table(std::move(header));
  for (const v1::AppStatus& app : response.apps()) {
    std::vector<Cell> row = {
        {Shown(app.spec().name())},
        {EnumLabel(app.spec().replication().strategy())},
        {absl::StrCat(app.shards())},
        {absl::StrCat(app.shards_served()), OutOf(app.shards_served(), app.shards()).tone},
        OutOf(app.replicas_serving(), app.replicas_wanted()),
        OutOf(app.servers_live(), app.servers_known()),
        {absl::StrCat(app.moves_in_flight())}};
    if (style.wide) row.push_back({VersionText(app.map_version())});
    row.push_back(StatusCell(app));
    table.AddRow(std::move(row));
  }
  return table.Render(style.colour);
}

std::string ServersTable(const v1::GetServersResponse& response, Style style,
                         const std::string& indent) {
  const bool several_apps = HasSeveralApps(response.servers());
  std::vector<std::string> header;
  if (several_apps) header.push_back("APP");
  for (const char* name : {"NAME", "STATE", "REGION", "REPLICAS", "ENDPOINT"}) {
    header.push_back(name);
  }
  if (style.wide) {
    for (const char* name : {"DATACENTER", "RACK", "CAPACITY", "LOAD", "INCARNATION"}) {
      header.push_back(name);
    }
  }
  header.push_back("REASON");
  Table table(std::move(header));
  for (const v1::ServerStatus& server : response.servers()) {
    std::vector<Cell> row;
    if (several_apps) row.push_back({Shown(server.app())});
    row.push_back({Shown(server.server())});
    row.push_back(StateCell(server.state()));
    row.push_back({Shown(server.fault_domain().region())});
    row.push_back(OutOf(server.replicas_serving(), server.replicas()));
    row.push_back({Shown(server.endpoint())});
    if (style.wide) {
      row.push_back({Shown(server.fault_domain().datacenter())});
      row.push_back({Shown(server.fault_domain().rack())});
      row.push_back({server.capacity() == 0 ? "" : absl::StrCat(server.capacity())});
      row.push_back({LoadsText(server)});
      row.push_back({absl::StrCat(server.incarnation())});
    }
    row.push_back({Shown(server.reason())});
    table.AddRow(std::move(row));
  }
  return table.Render(style.colour, indent);
}

std::string KeysText(const v1::ShardStatus& shard) {
  if (shard.has_hash_range()) {
    return Shown(HashRangeText(shard.hash_range().start(), shard.hash_range().end()));
  }
  return shard.has_range() ? RangeText(shard.range().start(), shard.range().end()) : "";
}

std::string ShardsTable(const v1::GetShardsResponse& response, Style style,
                        const std::string& indent) {
  const bool both_roles = HasSecondaries(response);
  const char* replicas = both_roles ? "REPLICAS" : "PRIMARY";
  Table table({"NAME", "STATE", style.wide ? absl::StrCat(replicas, "@EPOCH") : replicas, "RANGE",
               "REASON"});
  for (const v1::ShardStatus& shard : response.shards()) {
    const auto append = [&](std::string* out, const v1::ReplicaStatus& replica) {
      out->append(ReplicaText(replica, style.wide, both_roles));
    };
    table.AddRow({{Shown(shard.shard())},
                  StateCell(shard.state()),
                  {absl::StrJoin(shard.replicas(), ",", append)},
                  {KeysText(shard)},
                  {ReasonOf(shard)}});
  }
  return table.Render(style.colour, indent);
}

std::string EventLine(const v1::ControlEvent& event, bool colour) {
  std::string subject = Shown(event.app());
  for (const std::string& part : {event.server(), event.shard()}) {
    if (!part.empty()) absl::StrAppend(&subject, subject.empty() ? "" : "/", Shown(part));
  }
  return absl::StrCat(Painted({TimeText(event.time_ms()), Tone::kQuiet}, colour), "  ",
                      Shown(event.kind()), subject.empty() ? "" : "  ", subject,
                      event.count() < 2 ? ""
                                        : absl::StrCat("  ", event.count(), " times until ",
                                                       TimeText(event.last_ms()), ", last:"),
                      event.message().empty() ? "" : "  ", Shown(event.message()),
                      event.by().empty() ? "" : ", by ", Shown(event.by()),
                      event.operation().empty() ? "" : ", operation ", Shown(event.operation()));
}

}  // namespace shardmanager::cli
