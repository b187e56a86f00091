// What the control plane says, as tables and lines. Pure: the same answer gives the
// same text. Text that came over the wire is shown without control characters.
#pragma once

#include <algorithm>
#include <string>

#include "cli/table.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::cli {

struct Style {
  bool colour = false;
  // More columns.
  bool wide = false;
};

// Of servers or operations, for example: then a table has a column for the app.
template <typename Rows>
bool HasSeveralApps(const Rows& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [&](const auto& row) { return row.app() != rows.begin()->app(); });
}

// NAME STRATEGY SHARDS SERVED REPLICAS SERVERS MOVES STATUS
std::string AppsTable(const v1::GetAppsResponse& response, Style style);
// NAME STATE REGION REPLICAS ENDPOINT REASON; with APP when there are several.
std::string ServersTable(const v1::GetServersResponse& response, Style style,
                         const std::string& indent = "");
// NAME STATE PRIMARY RANGE REASON; REPLICAS for PRIMARY where there are secondaries.
std::string ShardsTable(const v1::GetShardsResponse& response, Style style,
                        const std::string& indent = "");

// "ok", or what is wrong.
Cell StatusCell(const v1::AppStatus& app);
// A state of a server, a shard or a replica, in its tone.
Cell StateCell(const std::string& state);
// Wire text without control characters.
std::string Shown(const std::string& text);
// The keys that the shard holds; empty if it has no range.
// Example: ["g", "n"), or hash [8, c).
std::string KeysText(const v1::ShardStatus& shard);
// "6/7", in the tone of a lack when there is one.
Cell OutOf(uint32_t have, uint32_t want);
std::string VersionText(const v1::MapVersion& version);

// One line without a line end.
// Example: "2026-03-01T12:00:00.123Z  ServerLost  kv/kv-3  session expired".
std::string EventLine(const v1::ControlEvent& event, bool colour);

}  // namespace shardmanager::cli
