// The replicas of one shard, counted for a decision.
#pragma once

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// A shard's replicas counted, those that the change removes left out.
struct Census {
  uint32_t healthy = 0;  // granted or reserved, on servers that are not given up
  uint32_t serving = 0;
  bool primary_right = false;  // a primary may serve that the change does not end
  bool moving = false;         // a replica is reserved or dropping
  ReplicaIndex reserved;
  absl::InlinedVector<ReplicaIndex, 2> lost;  // granted on servers that are given up
};

// It is to be replaced, as its server is given up. What it alone may have is given up later: then a
// server that said good-bye is waited for like one that was lost.
bool IsReplicaGivenUp(const PartitionState& state, const Replica& replica);
Census Count(const PartitionState& state, const Change& change, ShardIndex id);
// Where shards have both, one that nobody could become the primary of begins with it.
Role RoleOfNew(const PartitionState& state, const Change& change, ShardIndex id,
               const Census& census);
bool IsEnding(const Change& change, ReplicaIndex id);

}  // namespace shardmanager::orchestrator
