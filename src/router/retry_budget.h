// How many further attempts the calls of one app may make.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/time.h"

namespace shardmanager::router {

// When an app's servers fail, each call tries again, so the load on what is left multiplies just
// when it can be borne least. So each call brings a share of an attempt, each further attempt takes
// a whole one, and a few are there in any case: a client of few calls may always retry.
//
// Thread-safe; OnCall takes no lock.
class RetryBudget {
 public:
  // `share`: further attempts for each call, over many calls. 0: none but kEachSecond.
  explicit RetryBudget(double share) : share_(static_cast<int64_t>(share * kOne)) {}

  void OnCall() { brought_.fetch_add(share_, std::memory_order_relaxed); }
  // May one more attempt be made now? If not, it is to wait for longer.
  bool Take(TimePoint now);

  static constexpr int64_t kMostSaved = 100;
  static constexpr int64_t kEachSecond = 10;

 private:
  static constexpr int64_t kOne = 1'000'000;  // one attempt: parts of it, to add them up exactly

  const int64_t share_;
  std::atomic<int64_t> brought_{0};  // by calls, and not yet in saved_
  std::mutex mutex_;
  int64_t saved_ = kMostSaved * kOne;
  TimePoint filled_at_{};
};

}  // namespace shardmanager::router
