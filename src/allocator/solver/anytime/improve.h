// What a portfolio of searches does with a budget: it descends, mends what that leaves broken,
// anneals quickly, and then slowly, once or, if there are steps for it, several times, until the
// budget is spent. Where nothing costs anything but moves, it looks for fewer of them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "allocator/solver/anytime/pace.h"
#include "allocator/solver/anytime/portfolio.h"

namespace shardmanager::solver {

struct ImproveOptions {
  Budget budget;
  // Most steps of the descent, which may take half of the budget in any case. Fewer are right where
  // the start is valid and annealing does the work.
  uint64_t descent_steps = UINT64_MAX;
  // What the clocks say that has been spent (steps are known without it). OPTIONAL: without it only
  // steps count.
  std::function<Spent()> clocks;
  // Called at the beginning, after every stretch and at the end, with what has been spent and the
  // part of the budget that it is. False ends the search; what was found stays. OPTIONAL.
  std::function<bool(const Spent& spent, double part)> go_on;
};

inline constexpr char kDescentPhase[] = "descent";
inline constexpr char kMendingPhase[] = "mending";
inline constexpr char kQuickPhase[] = "quick annealing";
inline constexpr char kAnnealingPhase[] = "annealing";
inline constexpr char kFewerMovesPhase[] = "fewer moves";

// One part of a search, and what came of it.
struct Phase {
  std::string name;  // one of the above
  uint64_t steps = 0;
  // It ended with something better than it began with.
  bool improved = false;
  // It ended by itself, and not by the budget.
  bool finished = false;
};

struct Outcome {
  std::vector<Phase> phases;  // that took place, in their order
  // Nothing costs anything but moves, and they are proved to be as few as can be.
  bool fewest_moves = false;
};

// REQUIRES: the searches have not begun.
Outcome Improve(Portfolio& portfolio, const ImproveOptions& options);

}  // namespace shardmanager::solver
