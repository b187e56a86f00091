// What it costs to break a constraint for a while: more and more as long as it is broken,
// less and less while it is kept (strategic oscillation: Glover 1977).
#pragma once

#include <algorithm>
#include <limits>

#include "allocator/solver/score.h"

namespace shardmanager::solver {

class Price {
 public:
  // `usual`: of one unit, to begin with. `all`: units that there are at all; `broken`: by which it
  // is broken now, and so many are allowed.
  Price(double usual, double all, double broken)
      : now_(usual), usual_(usual), all_(all), broken_(broken), allowed_(broken) {}

  double now() const { return now_; }
  // Units by which it is broken.
  double broken() const { return broken_; }
  // It is broken by so many units more.
  void Add(double units) { broken_ += units; }
  // True: by more than is allowed; would it be, with so many units more?
  bool Broken() const { return WouldBreak(0); }
  bool WouldBreak(double units) const { return broken_ + units > allowed_ + kTolerance; }
  // From now on no more is allowed than what is broken now.
  void Settle() { allowed_ = std::max(0.0, broken_); }

  struct Policy {
    double rise = 1;   // 1 or more: the factor by which it becomes dearer
    double fall = 1;   // 1 or more: by which it becomes cheaper
    double slack = 0;  // the part of all units by which it may be broken
    // True: what is allowed to be broken is to be repaired nevertheless.
    bool repair = false;
    // A price of `objects` equal parts of all units that gets above `ceiling` goes on from
    // `restart`. The way out of a placement in which a unit is broken, and which no single step
    // repairs, leads through one that breaks another unit; to a price that only rises it would be
    // closed for ever.
    double objects = 1;
    double ceiling = std::numeric_limits<double>::infinity();
    double restart = 0;
  };
  void Adjust(const Policy& policy) {
    const double free = std::max(policy.slack * all_, policy.repair ? 0 : allowed_);
    const bool dearer = broken_ > free + kTolerance;
    now_ = dearer ? std::min(now_ * policy.rise, usual_ * kMost)
                  : std::max(now_ / policy.fall, usual_ * kLeast);
    const double part = all_ / policy.objects;
    if (dearer && now_ * part > policy.ceiling) now_ = policy.restart / part;
  }

 private:
  // As parts of the usual price. What breaks a constraint by very little must still be worth
  // repairing; what is never broken must not take too long to get a price again.
  static constexpr double kMost = 1e7;
  static constexpr double kLeast = 1e-4;

  double now_;
  double usual_;
  double all_;
  double broken_;
  double allowed_;
};

}  // namespace shardmanager::solver
