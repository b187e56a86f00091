#include "taskcontroller/selection/bound.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace shardmanager::taskcontroller {
namespace {

// Sums of prices are rounded; a bound must not fall below the truth for that.
constexpr double kRounding = 1e-6;

class Prices {
 public:
  explicit Prices(const ChosenSet& set)
      : set_(set), price_(set.problem().shard_count(), 0), cost_(set.problem().size(), 0) {
    for (const CandidateIndex id : set.free()) {
      for (const ShardIndex shard : set.problem().shards(id)) Use(shard);
    }
    // Those with room for all who want it cost nothing.
    std::erase_if(scarce_,
                  [&](ShardIndex shard) { return FreeHolders(shard) <= set_.room_left(shard); });
    std::sort(scarce_.begin(), scarce_.end());
    std::fill(price_.begin(), price_.end(), 0);
    for (const ShardIndex shard : scarce_) price_[shard.index()] = 1;
    UpdateCosts();
    for (const ShardIndex shard : scarce_) price_[shard.index()] = 1 / DearestHolder(shard);
    UpdateCosts();
  }

  double Value() const {
    double value = 0;
    for (const ShardIndex shard : scarce_) value += set_.room_left(shard) * price_[shard.index()];
    for (const CandidateIndex id : set_.free()) value += std::max(0.0, 1 - cost_[id.index()]);
    return value;
  }

  // Each price goes towards what makes its holders cost 1 on the average.
  void Improve() {
    for (const ShardIndex shard : scarce_) {
      double sum = 0;
      int count = 0;
      for (const CandidateIndex id : set_.holders(shard)) {
        if (!set_.CanJoin(id)) continue;
        sum += cost_[id.index()];
        ++count;
      }
      if (sum > 0) price_[shard.index()] *= count / sum;
    }
    UpdateCosts();
  }

 private:
  void Use(ShardIndex shard) {
    if (price_[shard.index()]++ == 0) scarce_.push_back(shard);
  }
  uint32_t FreeHolders(ShardIndex shard) const {
    return static_cast<uint32_t>(price_[shard.index()]);
  }
  double DearestHolder(ShardIndex shard) const {
    double most = 0;
    for (const CandidateIndex id : set_.holders(shard)) {
      if (set_.CanJoin(id)) most = std::max(most, cost_[id.index()]);
    }
    return most;
  }
  void UpdateCosts() {
    for (const CandidateIndex id : set_.free()) {
      double cost = 0;
      for (const ShardIndex shard : set_.problem().shards(id)) cost += price_[shard.index()];
      cost_[id.index()] = cost;
    }
  }

  const ChosenSet& set_;
  std::vector<double> price_;       // by shard
  std::vector<double> cost_;        // by candidate: of its shards
  std::vector<ShardIndex> scarce_;  // whose room is not enough for all free holders
};

uint32_t RoundDown(double value) { return static_cast<uint32_t>(std::floor(value + kRounding)); }

}  // namespace

uint32_t MostThatCanJoin(const ChosenSet& set, uint32_t enough, int passes) {
  const auto all = static_cast<uint32_t>(set.free().size());
  if (all <= enough || passes <= 0) return all;
  Prices prices(set);
  uint32_t bound = std::min(all, RoundDown(prices.Value()));
  for (int pass = 1; pass < passes && bound > enough; ++pass) {
    prices.Improve();
    const uint32_t better = std::min(bound, RoundDown(prices.Value()));
    if (std::exchange(bound, better) == better) break;  // hardly anything changes any more
  }
  return bound;
}

}  // namespace shardmanager::taskcontroller
