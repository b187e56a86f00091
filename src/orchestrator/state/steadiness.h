// Servers, or whole regions, that come and go: what was given to them would go back and forth. So
// after each loss but the first one a server has to live for a while, and twice as long each time,
// before it is given what others can hold as well (as routes that flap are damped: RFC 2439).
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace shardmanager::orchestrator {

// Of one server; as this leader saw it.
class Steadiness {
 public:
  static constexpr Duration kForgottenAfter = Seconds(900);
  static constexpr Duration kMost = Seconds(900);
  static constexpr int kMostDoublings = 4;

  // Its session has expired, and that was not planned.
  void Lost(TimePoint now) {
    if (losses_ > 0 && now >= last_loss_ + kForgottenAfter) losses_ = 0;
    losses_ = static_cast<uint8_t>(std::min(losses_ + 1, kMostCounted));
    last_loss_ = now;
  }
  // A new life, that has begun now. `after`: moves.steady_after_ms.
  void Began(TimePoint now, Duration after) {
    const bool steady = losses_ < 2 || now >= last_loss_ + kForgottenAfter;
    const int doublings = std::clamp(losses_ - 2, 0, kMostDoublings);
    steady_at_ = steady ? now : now + std::min(after * (1 << doublings), kMost);
  }

  // From then on it is given whatever others are.
  TimePoint steady_at() const { return steady_at_; }
  bool IsSteady(TimePoint now) const { return now >= steady_at_; }
  // In a row, each within kForgottenAfter of the one before.
  int losses() const { return losses_; }

 private:
  static constexpr int kMostCounted = 12;

  uint8_t losses_ = 0;
  TimePoint last_loss_{};
  TimePoint steady_at_ = TimePoint::min();
};

}  // namespace shardmanager::orchestrator
