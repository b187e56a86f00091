// The hinges of one scope (sums over domains of weight * max(0, base + sum of loads):
// load rules, and custom rules that say so), laid out for millions of looks a second:
// all that counts in a domain, and all that an object brings, lies in one row each,
// several columns to a lane.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "allocator/solver/anneal/price.h"
#include "allocator/solver/state.h"

namespace shardmanager::solver {

// What one unit of cost counts at each level; nothing at kConstraintLevel, which is not
// paid for but kept.
using LevelWeights = std::array<double, kLevels>;

class HingeBoard {
 public:
  // Two columns side by side: what every machine has operations for, so that sums are the
  // same on all of them.
  using Lane [[gnu::vector_size(16)]] = double;
  static constexpr size_t kLaneSize = 2;

  // Takes the rules of that scope. `scale`: what all goals cost at a bad time.
  HingeBoard(const State& state, ScopeId scope, const LevelWeights& weights, double scale);

  bool empty() const { return columns_ == 0; }
  size_t lanes() const { return lanes_; }
  ScopeId scope() const { return scope_; }
  // True: an object counts differently at its start, by more than the domain.
  bool sticky() const { return sticky_; }

  // What the object brings, at its start and elsewhere.
  const Lane* Row(ObjectId o, bool home) const {
    return &rows_[(sticky_ ? size_t{o.index()} * 2 + (home ? 1 : 0) : o.index()) * lanes_];
  }
  const Lane* NoRow() const { return none_.data(); }

  // What `plus` more and `minus` less there would add to the weighted cost of the goals
  // and to what constraints cost at their prices.
  double Rise(DomainId d, const Lane* plus, const Lane* minus) const {
    const Lane* excess = &domains_[size_t{d.index()} * 2 * lanes_];
    const Lane* scale = excess + lanes_;
    Lane sum = {};
    for (size_t i = 0; i < lanes_; ++i) {
      const Lane after = excess[i] + (plus[i] - minus[i]);
      sum += price_[i] * scale[i] * (after > 0 ? after : Lane{});
    }
    return sum[0] + sum[1] - Cost(d);
  }
  // What the domain costs now, in the same money.
  double Cost(DomainId d) const {
    Known& known = known_[d.index()];
    if (known.prices != prices_) known = {CostNow(d), prices_};
    return known.cost;
  }
  // Returns what it added to the weighted cost of the goals.
  double Apply(DomainId d, const Lane* plus, const Lane* minus);

  void AdjustPrices(const Price::Policy& policy);
  void Settle() {
    for (Price& price : constraints_) price.Settle();
  }
  // True: no constraint is broken by more than is allowed (price.h).
  bool Keeps() const {
    return std::none_of(constraints_.begin(), constraints_.end(),
                        [](const Price& price) { return price.Broken(); });
  }

 private:
  struct Column {
    const LoadRule* rule = nullptr;  // one of the two
    const Hinge* hinge = nullptr;
    bool sticky = false;
    double weight = 1;
  };

  // What a domain costs is worked out again when it or the prices have changed.
  struct Known {
    double cost = 0;
    uint64_t prices = 0;
  };

  static double& At(Lane* lanes, size_t column) { return reinterpret_cast<double*>(lanes)[column]; }
  static double At(const Lane* lanes, size_t column) {
    return lanes[column / kLaneSize][column % kLaneSize];
  }
  double CostNow(DomainId d) const;
  Lane* Excess(DomainId d) { return &domains_[size_t{d.index()} * 2 * lanes_]; }

  std::vector<Column> Columns(const State& state, const LevelWeights& weights);
  void FillRows(const Problem& problem, const Model& model, const std::vector<Column>& columns);
  void FillDomains(const Model& model, const std::vector<Column>& columns);
  void AddBase(const Model& model, const std::vector<Column>& columns);
  void SetPrices(const Problem& problem, double scale);
  void AddStarts(const Model& model, const std::vector<Column>& columns);
  void Put(DomainId d, const Lane* row);
  void ShowPrices();

  const ScopeId scope_;
  size_t columns_ = 0;
  size_t lanes_ = 0;
  size_t hard_ = 0;  // the first so many columns are constraints
  bool sticky_ = false;
  std::vector<Lane> rows_;            // [object][if sticky: away, home][lane]
  std::vector<Lane> none_;            // [lane]: 0
  std::vector<Lane> domains_;         // [domain][usage - limit, scale][lane]
  std::vector<Lane> price_;           // [lane]: for one unit above the limit; goals: 1
  uint64_t prices_ = 1;               // grows with each change of them
  mutable std::vector<Known> known_;  // by domain
  std::vector<Price> constraints_;    // by column
};

}  // namespace shardmanager::solver
