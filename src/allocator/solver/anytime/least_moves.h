// When there is no need to look for fewer moves.
#pragma once

#include "allocator/solver/state.h"

namespace shardmanager::solver {

// What moves cost at least in any placement in which nothing else costs anything: each container
// looked at alone, so many objects must leave it as get it under its limits, and the cheapest ones.
// A lower bound: less is not possible, and so little may not be, either.
// REQUIRES: everything stands at its start.
double LeastMovement(const State& state);

}  // namespace shardmanager::solver
