// How a search keeps within a budget: cuts an annealing into stretches, each as far in the course
// of temperatures as the budget is spent. It reads no clock: the caller says what has been spent.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace shardmanager::solver {

// Whatever is spent first ends the search.
struct Budget {
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

  // The only limit with which a search repeats bit for bit: what is done then depends on no clock.
  uint64_t steps = UINT64_MAX;
  double seconds = kUnlimited;      // of a wall clock
  double cpu_seconds = kUnlimited;  // of processor time
};

struct Spent {
  uint64_t steps = 0;
  double seconds = 0;
  double cpu_seconds = 0;
};

class Pace {
 public:
  // `searches`: so many share the steps of a stretch.
  explicit Pace(const Budget& budget, uint32_t searches = 1)
      : budget_(budget), searches_(searches) {}

  // The part of the budget that is spent: 0 to 1; 1: no more.
  double Part(const Spent& spent) const;

  // The part that is spent of what was left at the first stretch; 0: there was none yet.
  double Progress(const Spent& spent) const {
    return begin_ ? (Part(spent) - *begin_) / (1 - *begin_) : 0;
  }

  // So many steps will be taken until the budget is spent. 0: nobody knows yet how long a step
  // takes.
  double StepsLeft(const Spent& spent) const;

  struct Stretch {
    uint64_t steps = 0;
    // Of what was left of the budget at the first stretch: 0 to 1.
    double progress = 0;
    double progress_after = 0;
  };
  // The next stretch; nothing: the budget is spent. The steps of a stretch are those that a small
  // part of the budget is enough for, by the pace of the last one.
  std::optional<Stretch> Next(const Spent& spent);

 private:
  bool HasClock() const {
    return budget_.seconds < Budget::kUnlimited || budget_.cpu_seconds < Budget::kUnlimited;
  }
  void Learn(const Spent& spent, double part);

  const Budget budget_;
  const uint32_t searches_;
  std::optional<double> begin_;  // the part that was spent at the first stretch
  // The last stretch.
  uint64_t steps_ = 0;
  double part_ = 0;
  double part_of_step_ = 0;  // of the budget; 0: not known yet
};

}  // namespace shardmanager::solver
