#include "allocator/solver/anytime/pace.h"

#include <algorithm>
#include <cmath>

namespace shardmanager::solver {
namespace {

// Of a stretch: so long that looking at a clock does not count, and so short that neither the
// budget is overdrawn by much nor whoever watches waits.
constexpr double kPartOfStretch = 0.0025;  // of the budget
constexpr double kSecondsOfStretch = 0.02;
constexpr uint64_t kFirstSteps = 512;
constexpr uint64_t kLeastSteps = 64;
constexpr uint64_t kMostSteps = uint64_t{1} << 20;
constexpr uint64_t kMostGrowth = 4;  // from one stretch to the next
// Of each search, without a clock, so that it repeats whatever the machine does.
constexpr uint64_t kStepsWithoutClock = 16'384;

}  // namespace

double Pace::Part(const Spent& spent) const {
  double part = spent.steps >= budget_.steps
                    ? 1
                    : static_cast<double>(spent.steps) / static_cast<double>(budget_.steps);
  part = std::max(part, spent.seconds / budget_.seconds);
  part = std::max(part, spent.cpu_seconds / budget_.cpu_seconds);
  return std::min(1.0, part);
}

double Pace::StepsLeft(const Spent& spent) const {
  const double part_of_step = HasClock() ? part_of_step_ : 1 / static_cast<double>(budget_.steps);
  return part_of_step > 0 ? (1 - Part(spent)) / part_of_step : 0;
}

void Pace::Learn(const Spent& spent, double part) {
  if (steps_ == 0) {
    steps_ = kFirstSteps;
  } else if (part > part_) {
    part_of_step_ = (part - part_) / static_cast<double>(steps_);
    const double seconds = std::min(budget_.seconds, budget_.cpu_seconds);
    const double stretch = std::min({kPartOfStretch, kSecondsOfStretch / seconds, 1 - part});
    const auto wanted = static_cast<uint64_t>(std::min(1e12, stretch / part_of_step_));
    steps_ = std::clamp(wanted, kLeastSteps, std::min(steps_ * kMostGrowth, kMostSteps));
  } else {
    steps_ = std::min(steps_ * kMostGrowth, kMostSteps);  // too quick for the clock
  }
  steps_ = std::min(steps_, budget_.steps - spent.steps);
}

std::optional<Pace::Stretch> Pace::Next(const Spent& spent) {
  const double part = Part(spent);
  if (part >= 1) return std::nullopt;
  if (!begin_) begin_ = part;
  if (HasClock()) {
    Learn(spent, part);
  } else {
    steps_ = std::min(kStepsWithoutClock * searches_, budget_.steps - spent.steps);
    part_of_step_ = 1 / static_cast<double>(budget_.steps);
  }
  part_ = part;
  const double after = std::min(1.0, part + part_of_step_ * static_cast<double>(steps_));
  const double left = 1 - *begin_;
  Stretch stretch{.steps = steps_, .progress = (part - *begin_) / left};
  // A guess at first: that this stretch is as long as what is left permits.
  stretch.progress_after = part_of_step_ > 0 ? (after - *begin_) / left
                                             : std::min(1.0, stretch.progress + kPartOfStretch);
  // The last steps there are.
  if (budget_.steps - spent.steps == steps_) stretch.progress_after = 1;
  return stretch;
}

}  // namespace shardmanager::solver
