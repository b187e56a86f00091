// The one place through which every right to serve is given or taken: each transition is held
// against model/replica_phase.h before it goes out. What is wrong ends the process.
#pragma once

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// The change of one shard that is about to be staged.
void CheckRights(const PartitionState& state, ShardIndex shard, const Change& change);
// REQUIRES: `granted` (invalid: a new replica) is about to be granted.
void CheckPrimaryRight(const PartitionState& state, ShardIndex shard, const Change& change,
                       ReplicaIndex granted, Role role);

}  // namespace shardmanager::orchestrator
