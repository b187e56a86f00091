// Moves that operators ask for: why one may not be. Reading only.
//
// Whether it would break a constraint of the placement is for the allocator to say
// (allocator/explain.h); this is about what holds a move back.
#pragma once

#include <string>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// Invalid: it is not known.
struct AskedMove {
  ShardIndex shard;
  ServerIndex from;
  ServerIndex to;
};

AskedMove FindAskedMove(const PartitionState& state, const MoveAsked& asked);

// A sentence for people, without a full stop. Empty: the move may begin now, and does if it is
// asked for before anything else happens.
std::string WhyNotMoved(const PartitionState& state, const AskedMove& move);

}  // namespace shardmanager::orchestrator
