// How many candidates can be chosen at most, whatever is tried: a proof, not an estimate.
#pragma once

#include <cstdint>

#include "taskcontroller/selection/chosen_set.h"

namespace shardmanager::taskcontroller {

// How many of the free candidates of `set` can join it together, at most. At least `enough` if it
// finds nothing below that. The cost is at most `passes` looks at each replica; it ends when a pass
// gives nothing better.
//
// By duality of linear programs: for any prices y_s >= 0 of the shards' rooms,
//
//     sum over shards of room_s * y_s  +  sum over candidates of max(0, 1 - price of its shards)
//
// is at least the size of each set that fits. Prices are improved from pass to pass: those of a
// candidate whose shards cost more than 1 fall, the others rise.
uint32_t MostThatCanJoin(const ChosenSet& set, uint32_t enough, int passes);

}  // namespace shardmanager::taskcontroller
