// What `shardctl describe` shows: all that the control plane says about one thing.
// Pure, like render.h.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/render.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::cli {

// Around the thing that is described. Events are oldest first; those of other things
// are left out, of several of one kind in a row the last is shown with their number,
// and only the last few rows are shown.
struct Surroundings {
  std::vector<v1::ControlEvent> events;
  // Milliseconds since 1970 UTC: what ages are counted from.
  int64_t now_ms = 0;
  bool colour = false;
};

// `servers`: or why nobody can tell now which there are.
std::string DescribeApp(const v1::AppStatus& app,
                        const absl::StatusOr<v1::GetServersResponse>& servers,
                        const Surroundings& around);
// `shards`: all shards of the server's app.
std::string DescribeServer(const v1::ServerStatus& server, const v1::GetShardsResponse& shards,
                           const Surroundings& around);
std::string DescribeShard(const std::string& app, const v1::ShardStatus& shard,
                          const Surroundings& around);

}  // namespace shardmanager::cli
