// When a time-out that a caller gives is over, however long it is.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/time.h"

namespace shardmanager::router_internal {

// What is farther than this is no deadline.
inline constexpr std::chrono::milliseconds kFarthest = std::chrono::hours(24 * 365);

// Never overflows: milliseconds::max() is far in the future, and what is negative is `now`.
inline TimePoint After(TimePoint now, std::chrono::milliseconds timeout) {
  return now + std::clamp(timeout, std::chrono::milliseconds(0), kFarthest);
}

}  // namespace shardmanager::router_internal
