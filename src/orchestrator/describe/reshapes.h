// What is shown of splits and merges.
#pragma once

#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// Of a shard that is to be replaced.
v1::ShardReshape DescribeReshape(const PartitionState& state, ShardIndex shard);

}  // namespace shardmanager::orchestrator
