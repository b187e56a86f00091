#include "allocator/solver/anytime/improve.h"

#include <algorithm>
#include <utility>

#include "allocator/solver/anytime/least_moves.h"

namespace shardmanager::solver {
namespace {

// What is left when the descent ends is for the annealing.
constexpr double kDescentPart = 0.5;
// Mending takes as many steps as the descent, or as these, and no more than up to this part of the
// budget.
constexpr uint64_t kLeastMendingSteps = 1'000'000;
constexpr double kMendingEnds = 0.6;
// A quick annealing comes first, with this part of what is left: whoever stops early has most of
// what there is to gain, and it is a second start for the other one, which then begins anew.
constexpr double kQuickPart = 0.1;
// What an annealing finds depends on its seed. From so many steps for each object on, another
// annealing is worth as much as a longer one, or more (decision 0062).
constexpr double kStepsOfStart = 100'000;
constexpr double kMostStarts = 100;
// However late it is, a descent takes so many steps (some 20 ms): an answer has something to say,
// also where the clock has run on while the problem was read.
constexpr uint64_t kLeastDescentSteps = 20'000;

class Run {
 public:
  Run(Portfolio& portfolio, const ImproveOptions& options)
      : portfolio_(portfolio),
        options_(options),
        pace_(options.budget, portfolio.searches()),
        least_movement_(LeastMovement(portfolio.state())) {}

  Outcome All() {
    if (!GoesOn()) return {};
    Descend();
    if (!ended_ && phases_.front().finished && portfolio_.BestScore().Invalid()) Mend();
    if (!Perfect()) Anneal();
    return {.phases = std::move(phases_), .fewest_moves = Perfect()};
  }

 private:
  Spent Now() const {
    Spent spent = options_.clocks ? options_.clocks() : Spent();
    spent.steps = portfolio_.steps();
    return spent;
  }
  bool GoesOn() {
    if (ended_) return false;
    const Spent spent = Now();
    ended_ |= options_.go_on && !options_.go_on(spent, pace_.Part(spent));
    return !ended_;
  }

  // Nothing is left to look for.
  bool Perfect() const {
    const Score best = portfolio_.BestScore();
    if (best.OnlyMovement()) return best[kMovementLevel] <= least_movement_ + kTolerance;
    return !Score().BetterThan(best);
  }

  // `work` does it, and says whether it ended by itself.
  template <typename Work>
  void Do(const std::string& name, Work work) {
    const Score before = portfolio_.BestScore();
    const uint64_t steps = portfolio_.steps();
    const bool finished = work();
    phases_.push_back({.name = name,
                       .steps = portfolio_.steps() - steps,
                       .improved = portfolio_.BestScore().BetterThan(before),
                       .finished = finished});
    GoesOn();
  }

  void Descend() {
    const auto enough = [this] {
      return !GoesOn() ||
             (portfolio_.steps() >= kLeastDescentSteps && pace_.Part(Now()) >= kDescentPart);
    };
    const uint64_t end = std::min(options_.descent_steps, PartOfSteps(kDescentPart));
    Do(kDescentPhase, [&] { return portfolio_.Descend(Patience(end, enough)); });
  }

  void Mend() {
    const uint64_t begin = portfolio_.steps();
    const Patience patience(
        std::min(begin + std::max(kLeastMendingSteps, begin), PartOfSteps(kMendingEnds)),
        [this] { return !GoesOn() || pace_.Part(Now()) >= kMendingEnds; });
    Do(kMendingPhase, [&] {
      portfolio_.Mend(patience);
      return !patience.Over(portfolio_.steps());
    });
  }

  uint64_t PartOfSteps(double part) const {
    return static_cast<uint64_t>(part * static_cast<double>(options_.budget.steps));
  }

  void Anneal() {
    if (ended_ || pace_.Part(Now()) >= 1) return;
    const bool saves = portfolio_.BestScore().OnlyMovement();
    const double quick = saves || IsShort() ? 0 : kQuickPart;
    if (quick > 0) Do(kQuickPhase, [&] { return AnnealBetween(0, quick); });
    if (ended_ || Perfect()) return;
    Do(saves ? kFewerMovesPhase : kAnnealingPhase, [&] { return AnnealInStarts(quick); });
  }

  // As many annealings as there are steps for, of equal length, each anew.
  bool AnnealInStarts(double begin) {
    const double length = (1 - begin) / Starts();
    while (begin < 1) {
      const double end = begin + length < 1 - length / 2 ? begin + length : 1;
      if (AnnealBetween(begin, end)) return true;
      if (ended_ || Perfect()) break;
      begin = end;
    }
    return false;
  }
  int Starts() const {
    const double steps = pace_.StepsLeft(Now()) / portfolio_.searches();
    const double objects = std::max<uint32_t>(1, portfolio_.state().problem().objects);
    return static_cast<int>(std::clamp(steps / objects / kStepsOfStart, 1.0, kMostStarts));
  }

  // A quick annealing would have fewer steps than even a descent has at least.
  bool IsShort() const {
    return static_cast<double>(options_.budget.steps - Now().steps) * kQuickPart <
           kLeastDescentSteps;
  }

  // From hot to cold, between these parts of what was left of the budget at first. True: it ended
  // by itself.
  bool AnnealBetween(double begin, double end) {
    portfolio_.Anneal({.steps = 0, .anew = true});  // what must be set up takes time, too
    const auto part = [&](double of_all) {
      return std::clamp((of_all - begin) / (end - begin), 0.0, 1.0);
    };
    while (pace_.Progress(Now()) < end) {
      const auto stretch = pace_.Next(Now());
      if (!stretch) break;
      const uint64_t before = portfolio_.steps();
      portfolio_.Anneal({.steps = stretch->steps,
                         .progress = part(stretch->progress),
                         .progress_after = part(stretch->progress_after)});
      // (Without a step nothing can move, however long it is tried.)
      if (Perfect() || portfolio_.steps() == before) return true;
      if (!GoesOn()) break;
    }
    return false;
  }

  Portfolio& portfolio_;
  const ImproveOptions& options_;
  Pace pace_;
  const double least_movement_;
  bool ended_ = false;
  std::vector<Phase> phases_;
};

}  // namespace

Outcome Improve(Portfolio& portfolio, const ImproveOptions& options) {
  return Run(portfolio, options).All();
}

}  // namespace shardmanager::solver
