// How much of what was lost is restored at once, and what comes first.
#pragma once

#include <cstdint>
#include <optional>

#include "orchestrator/state/partition_state.h"
#include "orchestrator/state/wait.h"

namespace shardmanager::orchestrator {

// How many replicas of the shard may be restored beside those that are being restored.
uint32_t FailoversLeft(const PartitionState& state, ShardIndex id);
bool AnyServerTakesFailovers(const PartitionState& state);
// Which limit keeps the next failover of the shard from beginning; nothing: none does.
std::optional<Wait> FailoverWait(const PartitionState& state, ShardIndex id);

// Where limits make shards wait, those of a lower rank go first: those that nobody serves, then
// those whose replica was lost in a region that failover.region_order names before the others'.
uint32_t FailoverRank(const PartitionState& state, ShardIndex id);

// Moves for balance wait: in a mass failure, and while balance is paused.
bool HoldsBalance(const PartitionState& state);
// And one off this server would be such a move.
bool HoldsMove(const PartitionState& state, ServerIndex from);

// Lost without a good-bye and not as planned, with replicas to be restored.
bool IsLostByFailure(const Server& server);
struct LostServers {
  uint32_t lost = 0;
  uint32_t all = 0;  // these, and those that live
};
LostServers CountLost(const PartitionState& state);

}  // namespace shardmanager::orchestrator
