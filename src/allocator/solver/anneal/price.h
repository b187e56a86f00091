// What it costs to break a constraint for a while: more and more as long as it is broken,
// less and less while it is kept (strategic oscillation: Glover 1977).
#pragma once

#include <algorithm>

#include "allocator/solver/score.h"

namespace shardmanager::solver {

class Price {
 public:
  // `usual`: of one unit, to begin with. `all`: units that there are at all.
  Price(double usual, double all) : now_(usual), usual_(usual), all_(all) {}

  double now() const { return now_; }
  // Units by which it is broken, beyond those at the beginning.
  double over() const { return over_; }
  // It is broken by so many units more.
  void Add(double units) { over_ += units; }
  // True: by more than at the beginning.
  bool Broken() const { return over_ > kTolerance; }

  struct Policy {
    double rise = 1;   // 1 or more: the factor by which it becomes dearer
    double fall = 1;   // 1 or more: by which it becomes cheaper
    double slack = 0;  // the part of all units by which it may be broken
  };
  void Adjust(const Policy& policy) {
    const bool dearer = over_ > policy.slack * all_ + kTolerance;
    now_ = dearer ? std::min(now_ * policy.rise, usual_ * kMost)
                  : std::max(now_ / policy.fall, usual_ * kLeast);
  }

 private:
  // As parts of the usual price. What breaks a constraint by very little must still be worth
  // repairing; what is never broken must not take too long to get a price again.
  static constexpr double kMost = 1e7;
  static constexpr double kLeast = 1e-4;

  double now_;
  double usual_;
  double all_;
  double over_ = 0;
};

}  // namespace shardmanager::solver
