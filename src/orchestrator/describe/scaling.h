// What operators are shown of the number of replicas that loads ask for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// "Steady", "TooFew" ...
std::string_view ToString(ScaleState state);
// "each carries 61.5 cpu of 50"; or that it is not known.
std::string LoadOfOne(const PartitionState& state, const ScaledShard& shard);
// REQUIRES: the app has a scaling policy, and the shard is in its layout.
v1::ShardScaling DescribeScaling(const PartitionState& state, ShardIndex id, TimePoint now);
// Of the app: shards that carry too much, and why that lasts.
std::vector<std::string> ScalingConditions(const PartitionState& state);

}  // namespace shardmanager::orchestrator
