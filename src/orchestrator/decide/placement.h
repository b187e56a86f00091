// Where replicas of a shard come and go: what plans propose, moves, and replicas that are too many.
#pragma once

#include "orchestrator/decide/census.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// Uses what a plan proposed for the shard, as far as it still makes sense.
void DecidePlacement(const PartitionState& state, Change& change, ShardIndex id, Census& census);
// More replicas than wanted, all of them serving: one goes. The source of a move if
// one is under way, else the one on the fullest server.
void DecideSurplus(const PartitionState& state, Change& change, ShardIndex id,
                   const Census& census);

}  // namespace shardmanager::orchestrator
