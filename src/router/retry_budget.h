// How many further attempts the calls of one app may make.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "base/time.h"

namespace shardmanager::router {

// When an app's servers fail, each call tries again, so the load on what is left multiplies just
// when it can be borne least. So each call brings a share of an attempt, each further attempt takes
// a whole one, and a few come with time: a client of few calls may always retry.
//
// Thread-safe, without locks: what is saved is kept as the moment at which nothing was, for it
// grows with time (as in the generic cell rate algorithm, ITU-T I.371).
class RetryBudget {
 public:
  // `share`: further attempts for each call, over many calls. 0: none but kEachSecond.
  explicit RetryBudget(double share)
      : share_us_(static_cast<int64_t>(share * static_cast<double>(kAttempt.count()))) {}

  void OnCall() { empty_at_us_.fetch_sub(share_us_, std::memory_order_relaxed); }
  // May one more attempt be made now? If not, it is to wait for longer.
  bool Take(TimePoint now);

  static constexpr int64_t kMostSaved = 100;
  static constexpr int64_t kEachSecond = 10;

 private:
  static constexpr Duration kAttempt = Seconds(1) / kEachSecond;  // one comes in this time

  const int64_t share_us_;
  std::atomic<int64_t> empty_at_us_{std::numeric_limits<int64_t>::min() / 2};
};

}  // namespace shardmanager::router
