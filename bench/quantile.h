// Quantiles of times, and times in milliseconds.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "base/time.h"

namespace shardmanager {

inline double Ms(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

// REQUIRES: not empty.
template <typename T>
T Quantile(std::vector<T> values, double part) {
  const auto at =
      values.begin() + static_cast<ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace shardmanager
