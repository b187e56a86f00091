// How an annealing, which repairs what is broken, makes room for objects that stand nowhere: they
// are put where they break least, and what is then broken is repaired like anything else.
#pragma once

#include <cstdint>

#include "allocator/solver/state.h"

namespace shardmanager::solver {

// False: an annealing repairs nothing. The open containers together have less room than a repair
// would need, or nothing is broken, and no object lacks a place for want of room alone.
bool CanRepair(State& state);

// So many at once: with more of them a repair hardly ever succeeds.
inline constexpr uint32_t kMostSeated = 64;

// Puts up to `most` objects that stand nowhere somewhere, as far as there is room for them in sum,
// and only where nothing but room is in their way. Those come first that are first in the problem;
// where there are very many, not all are looked at. Returns how many.
uint32_t SeatUnplaced(State& state, uint32_t most);

}  // namespace shardmanager::solver
