// Requests by shard and by key, as `shardctl top` shows them. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "cli/render.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::cli {

// Leaves the `most` shards with the most requests, descending; those without any are left out.
void KeepTopShards(v1::GetShardsResponse& response, size_t most);
// SHARD REQ/S SHARE OF-SERVER ERR/S P50 P99 STATUS
std::string TopShardsTable(const v1::GetShardsResponse& response, Style style);
// KEY SHARD REQ/S SHARE OF-SERVER STATUS, and a line on how keys are spread.
std::string TopKeysTable(const v1::AppSkew& skew, Style style);

// Example: "1,100/s; 275/s at a server on average; 1 hot shard; keys spread over 5.8 of 6 bits (5.2
// to 5.9 in the last hour)".
std::string SkewText(const v1::AppSkew& skew);
// Example: "400/s, 36% of the app's; 0.2 errors/s; p50 below 0.3 ms, p99 below 2 ms".
std::string TrafficText(const v1::ShardTrafficStatus& traffic);

}  // namespace shardmanager::cli
