// Searches of one problem side by side, each with a seed of its own; the best of them counts. What
// an annealing finds depends on its seed, and where cores are idle a second one takes no time.
//
//   Portfolio portfolio(model, {.seed = 1, .searches = 4, .do_all = ForkJoin});
//   Improve(portfolio, {.budget = {.seconds = 10}});
//   Table<ObjectId, ContainerId> where = portfolio.Where();
//
// Deterministic, as a search is: searches share nothing while they work, and `do_all` may use as
// many threads as it likes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "allocator/solver/search.h"

namespace shardmanager::solver {

struct PortfolioOptions {
  // Of the first search; those of the others follow from it.
  uint64_t seed = 1;
  // 1 and more. Each needs memory for a state of its own, and the steps are shared out among them.
  uint32_t searches = 1;
  // Does all that it is given, in any order or at once, and returns when all is done.
  // OPTIONAL. Default: one after the other.
  std::function<void(std::span<const std::function<void()>>)> do_all = nullptr;
};

class Portfolio {
 public:
  // REQUIRES: the model outlives it.
  Portfolio(const Model& model, const PortfolioOptions& options);

  // As Search::Descend(). One search does it; the others go on from what it finds.
  bool Descend(const Patience& patience) { return searches_.front()->Descend(patience); }
  // As Search::Mend(). REQUIRES: nothing was annealed yet.
  void Mend(const Patience& patience) { searches_.front()->Mend(patience); }
  // As Search::Anneal(), with an equal share of the steps for each.
  void Anneal(const AnnealOptions& options);

  // Of the best; of equals, the first.
  Table<ObjectId, ContainerId> Where() const { return Best().Where(); }
  Score BestScore() const { return Best().BestScore(); }
  uint32_t Moves() const { return Best().Moves(); }
  // Of all.
  uint64_t steps() const;
  uint32_t searches() const { return options_.searches; }
  // What the first one stands on.
  const State& state() const { return searches_.front()->state(); }

 private:
  const Search& Best() const;
  void DoAll(std::span<const std::function<void()>> work) const;
  void StartOthers();

  const Model& model_;
  const PortfolioOptions options_;
  std::vector<std::unique_ptr<Search>> searches_;  // all but the first start with an annealing
};

}  // namespace shardmanager::solver
