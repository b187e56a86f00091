// Moves of a shard's replicas that follow one another.
#pragma once

#include <cstddef>
#include <vector>

#include "allocator/allocator.h"

namespace shardmanager::allocator {

// A shard's replicas are alike: of the moves "a to b" and "c to a" only the ends matter, "c to b",
// and of a round nothing is left. Makes such moves one, among those from `first` on, which are of
// one shard, at most one from each server and one to each.
//
// A shard's moves are carried out one at a time, and planned anew in between: of a chain only its
// first move would ever be made, which serves no goal, and the next plan might turn it back.
void JoinChains(std::vector<Move>& moves, size_t first);

}  // namespace shardmanager::allocator
