// What `shardctl place` tells on the standard error while it looks for better plans.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "allocator/solver/anytime/improve.h"
#include "allocator/solver/score.h"

namespace shardmanager::cli {

// The best plan so far.
struct PlanSoFar {
  solver::Score score;
  std::vector<bool> levels;  // of the score, in use
  uint32_t moves = 0;
};

// "12.0  0.5/31.25  0  43" with columns: seconds, what the goals cost by priority, units by which
// constraints are broken (and replicas without a place), moves.
std::string CurveHeader();
std::string CurveLine(double seconds, const PlanSoFar& plan);

// Writes such a line at the beginning, after every second and every twentieth of the budget, and at
// the end.
class Curve {
 public:
  // `out`: null: nothing is written.
  explicit Curve(std::ostream* out) : out_(out) {}

  bool Due(const solver::Spent& spent, double part) const;
  // REQUIRES: it is due, or the search has ended.
  void Show(const solver::Spent& spent, double part, const PlanSoFar& plan);

 private:
  std::ostream* out_;
  bool begun_ = false;
  double seconds_ = 0;
  double part_ = 0;
};

// What is to be said of a search beside its plan: that a part of it found nothing, or that there
// are no fewer moves (`moves_priced`: none that cost less). A line for each, or "".
std::string OutcomeText(const solver::Outcome& outcome, bool moves_priced);

}  // namespace shardmanager::cli
