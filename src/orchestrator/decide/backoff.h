// Pauses before a command that was in vain is sent again.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace shardmanager::orchestrator {

// After so many failures in a row, at least 1: 100 ms, then twice as long each time, up to 25.6 s.
inline Duration Backoff(uint32_t failures) {
  constexpr Duration kFirst = Milliseconds(100);
  constexpr int kMostDoublings = 8;
  return kFirst * (1 << std::min<int>(static_cast<int>(failures) - 1, kMostDoublings));
}

}  // namespace shardmanager::orchestrator
