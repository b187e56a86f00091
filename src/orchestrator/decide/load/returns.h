// No bounces: what a shard has left, as loads asked for it, loads do not ask it back to for an hour
// (decision 0033). Failovers, drains, first places, regions, spread and hard limits do not heed
// this.
#pragma once

#include <algorithm>

#include "base/defect.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// Nothing but the loads gains by such a move.
inline bool IsForBalance(allocator::MoveReason reason) {
  return reason == allocator::MoveReason::kUtilization || reason == allocator::MoveReason::kBalance;
}
// Loads caused it: it is for balance, or a hard limit was broken.
inline bool FollowsLoads(allocator::MoveReason reason) {
  return IsForBalance(reason) || reason == allocator::MoveReason::kConstraint;
}
// Where balance does not move the shard's replicas. (The allocator is told of them; what it
// proposes is checked once more when it is used.)
inline Servers NoReturnTo(const PartitionState& state, ShardIndex id) {
  return Planted(Defect::kBouncesBack) ? Servers() : state.moves.left.Of(id);
}
inline bool MayReturnTo(const PartitionState& state, ShardIndex id, ServerIndex server) {
  const Servers left = NoReturnTo(state, id);
  return std::find(left.begin(), left.end(), server) == left.end();
}

}  // namespace shardmanager::orchestrator
