// What a shard waits for, and what the balance does, as sentences for people.
#pragma once

#include <string>
#include <string_view>

#include "orchestrator/state/partition_state.h"
#include "orchestrator/state/wait.h"

namespace shardmanager::orchestrator {

// "kv-3, whose assignment record cannot be read".
std::string UnreadServers(const PartitionState& state);
// "FailoverBudget". Stable, for programs.
std::string_view ToString(WaitReason reason);
// A sentence for people: "failover.max_concurrent: 8 of 8 replicas are in failover".
std::string Describe(const PartitionState& state, const Wait& wait, TimePoint now);
// What was last decided about the balance of the app, and when it is looked at next.
std::string BalanceState(const PartitionState& state, TimePoint now);

}  // namespace shardmanager::orchestrator
