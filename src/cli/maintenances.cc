#include "cli/maintenances.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/time_text.h"
#include "model/drain.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

// How long until what.
std::string Left(const v1::MaintenanceStatus& status) {
  const std::string time = AgeText(std::chrono::milliseconds(status.left_ms()));
  if (status.state() == "ahead") return absl::StrCat("prepared in ", time);
  if (status.state() == "preparing" || status.state() == "ready") {
    return absl::StrCat("begins in ", time);
  }
  return status.state() == "under-way" ? absl::StrCat("over in ", time) : "";
}

Tone ToneOf(const v1::MaintenanceStatus& status) {
  if (status.shards_hit() > 0) return Tone::kBad;
  return status.state() == "ready" ? Tone::kGood : Tone::kPlain;
}

std::string WhatLeaves(const v1::MaintenanceStatus& status) {
  if (status.secondaries_leave()) return "all replicas";
  return status.primaries_leave() ? "primaries" : "nothing";
}

}  // namespace

std::string MaintenancesTable(const v1::GetMaintenancesResponse& response, Style style) {
  const auto& all = response.maintenances();
  const bool several_apps = HasSeveralApps(all);
  std::vector<std::string> header;
  if (several_apps) header.push_back("APP");
  for (const char* name : {"ID", "WHERE", "IMPACT", "STATE", "LEFT", "TO-LEAVE", "HITS", "REASON"})
    header.push_back(name);
  Table table(std::move(header));
  for (const v1::MaintenanceStatus& status : all) {
    std::vector<Cell> row;
    if (several_apps) row.push_back({Shown(status.app())});
    row.push_back({Shown(status.maintenance().id())});
    row.push_back({Shown(ToString(status.maintenance().scope()))});
    row.push_back({EnumLabel(status.maintenance().impact())});
    row.push_back({Shown(status.state()), ToneOf(status)});
    row.push_back({Left(status)});
    row.push_back({absl::StrCat(status.replicas_left())});
    row.push_back(
        {status.shards_hit() == 0 ? "0" : Counted(status.shards_hit(), "shard"), ToneOf(status)});
    row.push_back({Shown(status.maintenance().reason())});
    table.AddRow(std::move(row));
  }
  return table.Render(style.colour, "");
}

std::string DescribeMaintenance(const v1::MaintenanceStatus& status, Style style) {
  const v1::Maintenance& notice = status.maintenance();
  FieldList fields(style.colour);
  fields.Add("Maintenance", Shown(notice.id()));
  fields.Add("App", Shown(status.app()));
  fields.Add("Where",
             Shown(absl::StrCat(ToString(notice.scope()), ": ", Counted(status.servers(), "server"),
                                ", ", status.servers_live(), " live")));
  fields.Add("Impact", EnumLabel(notice.impact()));
  fields.Add("When", absl::StrCat(TimeText(notice.start_ms()), " to ", TimeText(notice.end_ms())));
  fields.Add("Why", Shown(notice.reason()));
  fields.Add("Notice", Shown(absl::StrCat(TimeText(notice.since_ms()),
                                          notice.who().empty() ? "" : ", by ", notice.who())));
  const std::string left = Left(status);
  fields.Add("State",
             {Shown(absl::StrCat(status.state(), left.empty() ? "" : ", ", left)), ToneOf(status)});
  fields.Add("Leaves", absl::StrCat(WhatLeaves(status), "; ", status.replicas_left(), " left"));
  std::string text = fields.Render();
  if (status.hits().empty()) return text;
  absl::StrAppend(&text, "Hits ", Counted(status.shards_hit(), "shard"), ":\n");
  for (const v1::MaintenanceHit& hit : status.hits()) {
    absl::StrAppend(&text, kIndent, Shown(absl::StrCat(hit.shard(), ": ", hit.why())), "\n");
  }
  const auto shown = static_cast<uint32_t>(status.hits_size());
  if (status.shards_hit() > shown) {
    absl::StrAppend(&text, kIndent, "and ", status.shards_hit() - shown, " more\n");
  }
  return text;
}

}  // namespace shardmanager::cli
