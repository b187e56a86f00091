// Whether a server has room for one more replica, and whether one more move may begin now.
#pragma once

#include <algorithm>
#include <cstdint>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// Smaller of two caps in which 0 means "none".
inline uint32_t TighterCap(uint32_t a, uint32_t b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

// One more such move fits, in all and at both its servers.
bool MoveBudgetLeft(const PartitionState& state, Cause cause, const Intent& intent);
// May be given replicas, and keep those that it has.
bool Accepts(const PartitionState& state, ServerIndex id);
// It lives, and may be given replicas now.
bool TakesReplicas(const PartitionState& state, ServerIndex id);
bool RegionAllowed(const PartitionState& state, ServerIndex id);
// Most replicas on the server; 0: no limit.
uint32_t ReplicaCapacity(const PartitionState& state, ServerIndex id);
// A replica of the shard can be put on the server now.
bool CanBeTarget(const PartitionState& state, ShardIndex shard, ServerIndex id);
// The server's record has room for so many bytes more.
bool RecordTakes(const PartitionState& state, ServerIndex server, size_t bytes);
// Most replicas that the server's record may hold, whatever further shards are chosen for it.
uint32_t RecordCapacity(const PartitionState& state, ServerIndex id);

}  // namespace shardmanager::orchestrator
