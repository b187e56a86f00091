// Time as a value. Cores are told what time it is; there is no Now() here, on
// purpose: only src/runtime may read a clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace shardmanager {

using Duration = std::chrono::microseconds;

// A clock type without now(): it only gives TimePoint its own type.
struct CoreClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<CoreClock, Duration>;
  static constexpr bool is_steady = true;
};

// Microseconds on some process-local monotonic scale.
using TimePoint = CoreClock::time_point;

constexpr TimePoint kNever = TimePoint::max();

constexpr Duration Milliseconds(int64_t ms) { return std::chrono::milliseconds(ms); }
constexpr Duration Seconds(int64_t s) { return std::chrono::seconds(s); }

// For a person or a metric to read: 1.5 for Milliseconds(1500).
template <typename Rep, typename Period>
constexpr double InSeconds(std::chrono::duration<Rep, Period> d) {
  return std::chrono::duration<double>(d).count();
}

}  // namespace shardmanager
