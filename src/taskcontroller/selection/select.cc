#include "taskcontroller/selection/select.h"

#include <algorithm>
#include <optional>

#include "taskcontroller/selection/bound.h"
#include "taskcontroller/selection/chosen_set.h"
#include "taskcontroller/selection/exact.h"
#include "taskcontroller/selection/improve.h"
#include "taskcontroller/selection/order.h"

namespace shardmanager::taskcontroller {
namespace {

// Looks at each replica that the bound may take.
constexpr int kBoundPasses = 12;
// Orders that are tried: each costs as much as phase 2.
constexpr size_t kMostRegions = 8;

class Selector {
 public:
  Selector(const Problem& problem, const SelectOptions& options)
      : problem_(problem), options_(options), holders_(problem), set_(problem, holders_) {}

  Selection Run() {
    ChooseUrgent();
    ChosenSet start = set_;
    order_ = DomainByDomain(problem_);
    Take(set_, order_);
    at_most_ = problem_.most();
    if (set_.size() < at_most_) {
      const uint32_t joined = set_.size() - start.size();
      at_most_ = std::min(at_most_, start.size() + MostThatCanJoin(start, joined, kBoundPasses));
    }
    best_ = set_.List();
    if (best_.size() < at_most_ && !SolveExactly(start)) SearchLargeOnes(start);
    return {.chosen = std::move(best_), .at_most = at_most_};
  }

 private:
  void ChooseUrgent() {
    for (const CandidateIndex id : problem_.candidates()) {
      const Candidate& candidate = problem_.candidate(id);
      if (!candidate.urgent) break;
      if (set_.size() < problem_.most() && set_.CanJoin(id)) {
        set_.Choose(id);
        locked_.push_back(id);
      } else if (candidate.reserves) {
        set_.Reserve(id);
      }
    }
  }

  void Take(ChosenSet& set, const std::vector<CandidateIndex>& order) const {
    for (const CandidateIndex id : order) {
      if (set.size() == problem_.most()) return;
      if (set.CanJoin(id)) set.Choose(id);
    }
  }

  void Keep(const ChosenSet& set) {
    if (set.size() > best_.size()) best_ = set.List();
  }

  // False: too large.
  bool SolveExactly(ChosenSet& start) {
    if (start.free().size() > options_.most_for_exact) return false;
    ExactSearch search(start, order_,
                       {.known = static_cast<uint32_t>(best_.size()),
                        .most = at_most_,
                        .steps = options_.exact_steps});
    const bool done = search.Run();
    if (!search.best().empty()) best_ = search.best();
    if (done) at_most_ = static_cast<uint32_t>(best_.size());
    return done;
  }

  void SearchLargeOnes(const ChosenSet& start) {
    ChosenSet largest = set_;
    const std::vector<uint32_t> regions = RegionsOf(problem_);
    for (size_t i = 1; i < std::min(regions.size(), kMostRegions); ++i) {
      ChosenSet set = start;
      Take(set, RegionFirst(problem_, order_, regions[i]));
      if (set.size() > largest.size()) largest = std::move(set);
    }
    LocalSearch search(largest, locked_,
                       {.enough = at_most_, .steps = options_.search_steps, .seed = options_.seed});
    search.Run();
    Keep(largest);
  }

  const Problem& problem_;
  const SelectOptions& options_;
  const Holders holders_;
  ChosenSet set_;
  std::vector<CandidateIndex> locked_;  // the urgent ones that are chosen
  std::vector<CandidateIndex> order_;
  std::vector<CandidateIndex> best_;
  uint32_t at_most_ = 0;
};

}  // namespace

Selection Select(const Problem& problem, const SelectOptions& options) {
  return Selector(problem, options).Run();
}

}  // namespace shardmanager::taskcontroller
