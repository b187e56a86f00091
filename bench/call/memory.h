// router_100k_rss_mb of scripts/bench call.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "discovery/hub.h"

namespace shardmanager::call_bench {

struct RouterMemory {
  double base_mb;   // of the process without the router
  double added_mb;  // by the router and its map
  double most_mb;   // the same while the map came
};

// What a router with a map of 100,000 shards adds to the resident memory of a process that uses
// gRPC already. Measured in a process of its own.
absl::StatusOr<RouterMemory> MeasureRouterMemory(discovery::Hub& hub, const std::string& discovery,
                                                 const std::string& folder);
// What that process does: main() of "memory DISCOVERY FILE".
int MeasureOwnMemory(const std::string& discovery, const std::string& file);

}  // namespace shardmanager::call_bench
