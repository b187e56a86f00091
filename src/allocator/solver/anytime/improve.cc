#include "allocator/solver/anytime/improve.h"

#include <algorithm>
#include <utility>

#include "allocator/solver/anytime/least_moves.h"

namespace shardmanager::solver {
namespace {

// What is left when the descent ends is for the annealing.
constexpr double kDescentPart = 0.5;
// A quick annealing comes first, with this part of what is left: whoever stops early has most of
// what there is to gain, and it is a second start for the other one, which then begins anew.
constexpr double kQuickPart = 0.1;
// However late it is, a descent takes so many steps (some 20 ms): an answer has something to say,
// also where the clock has run on while the problem was read.
constexpr uint64_t kLeastDescentSteps = 20'000;

class Run {
 public:
  Run(Search& search, const ImproveOptions& options)
      : search_(search),
        options_(options),
        pace_(options.budget),
        least_movement_(LeastMovement(search.state())) {}

  Outcome All() {
    if (!GoesOn()) return {};
    Descend();
    if (!Perfect()) Anneal();
    return {.phases = std::move(phases_), .fewest_moves = Perfect()};
  }

 private:
  Spent Now() const {
    Spent spent = options_.clocks ? options_.clocks() : Spent();
    spent.steps = search_.steps();
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
    const Score best = search_.BestScore();
    if (best.OnlyMovement()) return best[kMovementLevel] <= least_movement_ + kTolerance;
    return !Score().BetterThan(best);
  }

  // `work` does it, and says whether it ended by itself.
  template <typename Work>
  void Do(const std::string& name, Work work) {
    const Score before = search_.BestScore();
    const uint64_t steps = search_.steps();
    const bool finished = work();
    phases_.push_back({.name = name,
                       .steps = search_.steps() - steps,
                       .improved = search_.BestScore().BetterThan(before),
                       .finished = finished});
    GoesOn();
  }

  void Descend() {
    const auto half =
        static_cast<uint64_t>(kDescentPart * static_cast<double>(options_.budget.steps));
    const uint64_t end = std::min(options_.descent_steps, half);
    const auto enough = [this] {
      return !GoesOn() ||
             (search_.steps() >= kLeastDescentSteps && pace_.Part(Now()) >= kDescentPart);
    };
    Do(kDescentPhase, [&] { return search_.Descend(Patience(end, enough)); });
  }

  void Anneal() {
    if (ended_ || pace_.Part(Now()) >= 1) return;
    const bool saves = search_.BestScore().OnlyMovement();
    const double quick = saves || IsShort() ? 0 : kQuickPart;
    if (quick > 0) Do(kQuickPhase, [&] { return AnnealBetween(0, quick); });
    if (ended_ || Perfect()) return;
    Do(saves ? kFewerMovesPhase : kAnnealingPhase, [&] { return AnnealBetween(quick, 1); });
  }

  // A quick annealing would have fewer steps than even a descent has at least.
  bool IsShort() const {
    return static_cast<double>(options_.budget.steps - Now().steps) * kQuickPart <
           kLeastDescentSteps;
  }

  // From hot to cold, between these parts of what was left of the budget at first. True: it ended
  // by itself.
  bool AnnealBetween(double begin, double end) {
    search_.Anneal({.steps = 0, .anew = true});  // what must be set up takes time, too
    const auto part = [&](double of_all) {
      return std::clamp((of_all - begin) / (end - begin), 0.0, 1.0);
    };
    while (pace_.Progress(Now()) < end) {
      const auto stretch = pace_.Next(Now());
      if (!stretch) break;
      const uint64_t before = search_.steps();
      search_.Anneal({.steps = stretch->steps,
                      .progress = part(stretch->progress),
                      .progress_after = part(stretch->progress_after)});
      // (Without a step nothing can move, however long it is tried.)
      if (Perfect() || search_.steps() == before) return true;
      if (!GoesOn()) break;
    }
    return false;
  }

  Search& search_;
  const ImproveOptions& options_;
  Pace pace_;
  const double least_movement_;
  bool ended_ = false;
  std::vector<Phase> phases_;
};

}  // namespace

Outcome Improve(Search& search, const ImproveOptions& options) {
  return Run(search, options).All();
}

}  // namespace shardmanager::solver
