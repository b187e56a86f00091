// Small facts about a shard, for people.
#pragma once

#include <string>
#include <string_view>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

const std::string& ErrorOf(const PartitionState& state, ShardIndex shard, ServerIndex server);
std::string_view UnplaceableReason(const PartitionState& state, ShardIndex shard);
int ProgressOf(const PartitionState& state, ShardIndex shard, ServerIndex server);

}  // namespace shardmanager::orchestrator
