// What the control plane leaves as it is while an operator has paused the app. A step that is under
// way is finished, so that nothing is left half way: a handover, the drop of a replica that was
// moved, the return of a shard whose move failed. What the spec does not name any more is dropped.
#pragma once

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// No replica, and no role that is served, goes from one server to another.
inline bool MovesNothing(const PartitionState& state) { return state.ordered.pause.has_value(); }

// What has no server, or whose server is lost, waits: no failover, no first place, no promotion in
// place of a lost primary. MovesNothing(), but for a pause with `failover`.
inline bool PlacesNothing(const PartitionState& state) {
  return state.ordered.pause.has_value() && !state.ordered.pause->failover();
}

}  // namespace shardmanager::orchestrator
