#include "router/retry_budget.h"

#include <algorithm>

namespace shardmanager::router {

bool RetryBudget::Take(TimePoint now) {
  const int64_t now_us = now.time_since_epoch().count();
  const int64_t full_at_us = now_us - kMostSaved * kAttempt.count();
  int64_t empty_at_us = empty_at_us_.load(std::memory_order_relaxed);
  for (;;) {
    const int64_t next = std::max(empty_at_us, full_at_us) + kAttempt.count();
    if (next > now_us) return false;
    if (empty_at_us_.compare_exchange_weak(empty_at_us, next, std::memory_order_relaxed)) {
      return true;
    }
  }
}

}  // namespace shardmanager::router
