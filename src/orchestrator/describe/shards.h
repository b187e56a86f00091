// Small facts about a shard, for people.
#pragma once

#include <string>
#include <string_view>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// Why the replica's last command failed; empty when it did not.
const std::string& ErrorOf(const PartitionState& state, ShardIndex shard, ServerIndex server);
// Why no place was found for a missing replica; empty when one was.
std::string_view UnplaceableReason(const PartitionState& state, ShardIndex shard);

}  // namespace shardmanager::orchestrator
