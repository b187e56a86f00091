// How long requests took, counted by powers of two.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace shardmanager {

// Class i has what took less than 2^i * 64 us, and not less than half of that; the last one has all
// that took longer.
inline constexpr size_t kTimeClasses = 18;
using RequestTimes = std::array<uint32_t, kTimeClasses>;

inline constexpr Duration UpperBoundOf(size_t time_class) {
  return Duration(int64_t{64} << time_class);
}

inline constexpr size_t TimeClassOf(Duration took) {
  size_t at = 0;
  while (at + 1 < kTimeClasses && took >= UpperBoundOf(at)) ++at;
  return at;
}

// This share of the requests (0 to 1) took less. Zero: none was counted.
inline constexpr Duration QuantileOf(const RequestTimes& times, double share) {
  uint64_t total = 0;
  for (const uint32_t count : times) total += count;
  if (total == 0) return Duration(0);
  uint64_t seen = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    seen += times[i];
    if (static_cast<double>(seen) >= share * static_cast<double>(total)) return UpperBoundOf(i);
  }
  return UpperBoundOf(times.size() - 1);
}

}  // namespace shardmanager
