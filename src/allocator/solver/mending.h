// How containers get back under their limits in a fleet with little room: an object goes to where
// it fits, or trades places with one that is as large as there is room for it. In a full fleet
// there is hardly a place that has room for an object, but mostly an object that has a little more
// load than another one.
#pragma once

#include "allocator/solver/anytime/patience.h"
#include "allocator/solver/state.h"

namespace shardmanager::solver {

// As long as some container breaks a constraint on its load, and a move or a trade makes that less,
// and all constraints together. Breaks no custom constraint for it, a limit of moves for example.
// No longer than `patience` lasts, of which each container that is broken has an equal share.
void MendLoads(State& state, const Patience& patience);

}  // namespace shardmanager::solver
