// What a maintenance takes away from the app, if nothing changes before.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

struct MaintenanceHit {
  ShardIndex shard;
  ServerIndex server;  // where the replica is that should have left; invalid: too many stay
  std::string what;    // "its primary is still on kv-3"
};

// A hit for each shard that loses what its spec does not let it lose, in the order in which shards
// became known: a replica, or a primary, that has to leave is still there; or fewer replicas stay
// available elsewhere than availability.max_unavailable_replicas allows.
std::vector<MaintenanceHit> HitsOf(const PartitionState& state,
                                   const PlannedMaintenance& maintenance);
// Replicas that have to leave, and primaries that have to pass on their role, and have not.
size_t LeftToLeave(const PartitionState& state, const PlannedMaintenance& maintenance);

}  // namespace shardmanager::orchestrator
