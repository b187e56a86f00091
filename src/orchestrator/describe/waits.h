// What a shard waits for, and what the balance does, as sentences for people.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

std::string UnreadServers(const PartitionState& state);
std::string WhyHeldBack(const PartitionState& state, ShardIndex shard);
std::vector<std::string> WaitsOf(const PartitionState& state, ShardIndex id, TimePoint now);
std::string BalanceState(const PartitionState& state, TimePoint now);

}  // namespace shardmanager::orchestrator
