// What a shard waits for, and what the balance does, as sentences for people.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// "kv-3, whose assignment record cannot be read".
std::string UnreadServers(const PartitionState& state);
// Of a shard that is held back: "it may be on kv-3, whose assignment record cannot be read: until
// that is mended or released, nobody else gets it".
std::string WhyHeldBack(const PartitionState& state, ShardIndex shard);
// What the shard waits for now, a sentence each; empty: nothing.
std::vector<std::string> WaitsOf(const PartitionState& state, ShardIndex id, TimePoint now);
// What was last decided about the balance of the app, and when it is looked at next.
std::string BalanceState(const PartitionState& state, TimePoint now);

}  // namespace shardmanager::orchestrator
