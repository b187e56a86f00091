// Requests by shard and key, for people.
#pragma once

#include <string>

#include "orchestrator/decide/load/skew.h"
#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// Example: "812 requests/s at one server, 1.3 times what a server of the app has on average: moves
// do not help, smaller shards do".
std::string WhyShardIsHot(const PartitionState& state, const AppTraffic& app,
                          const ShardTraffic& shard);
// Example: "key \"cart:4711\" has 402 requests/s, 60% of what a server of the app has on average:
// no move or smaller shard helps, a cache in front of it or several keys do".
std::string WhyKeyIsHot(const AppTraffic& app, const KeyTotal& key);

// False: nobody has told of a request.
bool DescribeSkew(const PartitionState& state, v1::AppSkew* skew);
bool DescribeTraffic(const PartitionState& state, const AppTraffic& app, ShardIndex shard,
                     v1::ShardTrafficStatus* traffic);

}  // namespace shardmanager::orchestrator
