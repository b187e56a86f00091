// What the control plane leaves as it is while an operator has paused the app, or pinned a shard. A
// step that is under way is finished, so that nothing is left half way: a handover, the drop of a
// replica that was moved, the return of a shard whose move failed. What the spec does not name any
// more is dropped. What is to be split or merged stays, too, but to be brought together, or to
// leave a server that is to be emptied before that (replacements.h).
#pragma once

#include <algorithm>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// Balance alone stops: what has to leave its server moves, and what is lost is given to others.
inline bool OnlyBalanceIsPaused(const PartitionState& state) {
  return state.ordered.pause.has_value() && state.ordered.pause->only_balance();
}

// No replica, and no role that is served, goes from one server to another.
inline bool MovesNothing(const PartitionState& state) {
  return state.ordered.pause.has_value() && !OnlyBalanceIsPaused(state);
}

// The same of one shard. What it has lost is given to other servers all the same, unless
// PlacesNothing().
inline bool StaysPut(const PartitionState& state, ShardIndex id) {
  const Shard& shard = state.tables.shard(id);
  return MovesNothing(state) || shard.pinned || (shard.replaced && !shard.leaves_first);
}

// Null: the shard is not pinned.
inline const v1::Pin* PinOf(const PartitionState& state, ShardIndex id) {
  if (!state.tables.shard(id).pinned) return nullptr;
  const std::vector<v1::Pin>& pins = state.ordered.pins;
  const auto found = std::find_if(pins.begin(), pins.end(), [&](const v1::Pin& pin) {
    return pin.shard() == state.tables.name(id);
  });
  return found == pins.end() ? nullptr : &*found;
}

// What has no server, or whose server is lost, waits: no failover, no first place, no promotion in
// place of a lost primary. MovesNothing(), but for a pause with `failover`.
inline bool PlacesNothing(const PartitionState& state) {
  return MovesNothing(state) && !state.ordered.pause->failover();
}

}  // namespace shardmanager::orchestrator
