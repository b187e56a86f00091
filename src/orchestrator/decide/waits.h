// What a shard waits for, as data: what the next decision about it says, and what is under way.
#pragma once

#include <optional>
#include <vector>

#include "orchestrator/state/partition_state.h"
#include "orchestrator/state/wait.h"

namespace shardmanager::orchestrator {

// Empty: the shard waits for nothing.
std::vector<Wait> WaitsOf(const PartitionState& state, ShardIndex shard, TimePoint now);

}  // namespace shardmanager::orchestrator
