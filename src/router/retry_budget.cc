#include "router/retry_budget.h"

#include <algorithm>

namespace shardmanager::router {

bool RetryBudget::Take(TimePoint now) {
  std::lock_guard lock(mutex_);
  // Longer than it takes to be full is not counted: no product that overflows.
  const Duration since =
      std::clamp<Duration>(now - filled_at_, Duration(0), Seconds(kMostSaved / kEachSecond));
  filled_at_ = std::max(filled_at_, now);
  saved_ += brought_.exchange(0, std::memory_order_relaxed) + since.count() * kEachSecond;
  saved_ = std::min(saved_, kMostSaved * kOne);
  if (saved_ < kOne) return false;
  saved_ -= kOne;
  return true;
}

}  // namespace shardmanager::router
