#include "taskcontroller/selection/bound.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace shardmanager::taskcontroller {
namespace {

// Sums of prices are rounded; a bound must not fall below the truth for that.
constexpr double kRounding = 1e-6;

// Only shards whose room is not enough for all free candidates that want it have a price. They lie
// side by side, each with those candidates: a pass reads them from the first to the last, and what
// it changes in no order, the costs, is small.
class Prices {
 public:
  explicit Prices(const ChosenSet& set) : set_(set), cost_(set.problem().size(), 0) {
    // The most there can be. What stays unused costs no memory; lists that grow are copied, and
    // each copy is new memory that the system has to map.
    scarce_.reserve(set.problem().shard_count());
    holders_.reserve(set.problem().entries());
    for (const ShardIndex shard : IdRange<ShardIndex>(set.problem().shard_count()))
      AddIfScarce(shard);
    next_cost_ = cost_;
    SetPrices([](const Scarce&) { return 1.0; });
    SetPrices([this](const Scarce& shard) { return 1 / DearestHolder(shard); });
  }

  double Value() const {
    double value = 0;
    for (const Scarce& shard : scarce_) value += shard.room * shard.price;
    for (const CandidateIndex id : set_.free()) value += std::max(0.0, 1 - cost_[id.index()]);
    return value;
  }

  // Each price goes towards what makes its holders cost 1 on the average.
  void Improve() {
    SetPrices([this](const Scarce& shard) {
      double sum = 0;
      for (const CandidateIndex id : HoldersOf(shard)) sum += cost_[id.index()];
      return sum > 0 ? shard.price * (shard.end - shard.begin) / sum : shard.price;
    });
  }

 private:
  struct Scarce {
    double price = 0;
    uint32_t room = 0;
    // Where the free candidates that hold it are, in holders_.
    uint32_t begin = 0;
    uint32_t end = 0;
  };

  void AddIfScarce(ShardIndex shard) {
    const auto begin = static_cast<uint32_t>(holders_.size());
    for (const CandidateIndex id : set_.holders(shard)) {
      if (set_.CanJoin(id)) holders_.push_back(id);
    }
    const auto end = static_cast<uint32_t>(holders_.size());
    if (end - begin > set_.room_left(shard)) {
      scarce_.push_back({.room = set_.room_left(shard), .begin = begin, .end = end});
    } else {
      holders_.resize(begin);
    }
  }
  absl::Span<const CandidateIndex> HoldersOf(const Scarce& shard) const {
    return {holders_.data() + shard.begin, shard.end - shard.begin};
  }
  double DearestHolder(const Scarce& shard) const {
    double most = 0;
    for (const CandidateIndex id : HoldersOf(shard)) most = std::max(most, cost_[id.index()]);
    return most;
  }
  // `price_of` sees the costs by the prices before.
  template <typename PriceOf>
  void SetPrices(const PriceOf& price_of) {
    std::fill(next_cost_.begin(), next_cost_.end(), 0);
    for (Scarce& shard : scarce_) {
      shard.price = price_of(shard);
      for (const CandidateIndex id : HoldersOf(shard)) next_cost_[id.index()] += shard.price;
    }
    std::swap(cost_, next_cost_);
  }

  const ChosenSet& set_;
  std::vector<Scarce> scarce_;
  std::vector<CandidateIndex> holders_;  // of scarce shards
  std::vector<double> cost_;             // by candidate: of its shards
  std::vector<double> next_cost_;
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
