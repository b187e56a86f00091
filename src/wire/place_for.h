// Runs a placer for a time: the clock that it does not have itself.
#pragma once

#include <chrono>
#include <functional>

#include "allocator/placer/placer.h"

namespace shardmanager::wire {

// What Placer::Make should be told for so much time: the descent takes about half of it.
placer::PlacerOptions OptionsFor(std::chrono::milliseconds time, uint64_t seed);

// Descends, then anneals until the time is over or nothing is left to improve.
// `go_on` is asked every few milliseconds, with the part of the time that is over; false
// ends the search, and what was found so far stays.
void PlaceFor(placer::Placer& placer, std::chrono::milliseconds time,
              const std::function<bool(double part)>& go_on);

// Calls `slice(steps, progress, progress_after)` until the time is over, each time with
// as many steps as take a few milliseconds; `start`: when the time began.
void AnnealFor(std::chrono::steady_clock::time_point start, std::chrono::milliseconds time,
               const std::function<bool(double part)>& go_on,
               const std::function<void(uint64_t steps, double progress, double after)>& slice);

}  // namespace shardmanager::wire
