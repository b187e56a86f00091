#include "allocator/solver/anytime/portfolio.h"

#include <algorithm>

#include "base/random.h"

namespace shardmanager::solver {

Portfolio::Portfolio(const Model& model, const PortfolioOptions& options)
    : model_(model), options_(options) {
  searches_.push_back(std::make_unique<Search>(model, SearchOptions{.seed = options.seed}));
}

void Portfolio::DoAll(std::span<const std::function<void()>> work) const {
  if (options_.do_all && work.size() > 1) return options_.do_all(work);
  for (const auto& job : work) job();
}

void Portfolio::StartOthers() {
  const Table<ObjectId, ContainerId> where = searches_.front()->Where();
  Random seeds(options_.seed);
  std::vector<std::function<void()>> work;
  searches_.resize(options_.searches);
  for (size_t i = 1; i < searches_.size(); ++i) {
    work.emplace_back([this, &where, i, seed = seeds.Next()] {
      searches_[i] = std::make_unique<Search>(model_, SearchOptions{.seed = seed});
      searches_[i]->GoOnFrom(where);
    });
  }
  DoAll(work);
}

void Portfolio::Anneal(const AnnealOptions& options) {
  if (searches_.size() < options_.searches) StartOthers();
  std::vector<std::function<void()>> work;
  uint64_t left = options.steps;
  for (size_t i = 0; i < searches_.size(); ++i) {
    AnnealOptions share = options;
    share.steps = left / (searches_.size() - i);
    left -= share.steps;
    work.emplace_back([search = searches_[i].get(), share] { search->Anneal(share); });
  }
  DoAll(work);
}

uint64_t Portfolio::steps() const {
  uint64_t sum = 0;
  for (const auto& search : searches_) sum += search->steps();
  return sum;
}

const Search& Portfolio::Best() const {
  const Search* best = searches_.front().get();
  for (const auto& search : searches_) {
    if (search->BestScore().BetterThan(best->BestScore())) best = search.get();
  }
  return *best;
}

}  // namespace shardmanager::solver
