// The only place that reads a clock.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace shardmanager {

// CLOCK_BOOTTIME, as a core's TimePoint: it goes on while the machine sleeps, so a
// lease cannot outlive a suspend. Comparable between processes of one machine.
TimePoint MonotonicNow();

// Milliseconds since 1970-01-01 UTC, for people.
int64_t WallMilliseconds();

}  // namespace shardmanager
