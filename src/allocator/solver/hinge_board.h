// The hinges of one scope (sums over domains of weight * max(0, base + sum of loads):
// load rules, and custom rules that say so), laid out for millions of looks a second:
// all that counts in a domain, and all that an object brings, lies in one row each.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "allocator/solver/state.h"

namespace shardmanager::solver {

// What one unit of cost counts at each level; nothing at kConstraintLevel, which is not
// paid for but kept.
using LevelWeights = std::array<double, kLevels>;

class HingeBoard {
 public:
  // Takes the rules of that scope. `scale`: what all goals cost at a bad time.
  HingeBoard(const State& state, ScopeId scope, const LevelWeights& weights, double scale);

  bool empty() const { return columns_ == 0; }
  size_t columns() const { return columns_; }
  ScopeId scope() const { return scope_; }
  // True: an object counts differently at its start, by more than the domain.
  bool sticky() const { return sticky_; }

  // What the object brings, at its start and elsewhere.
  const double* Row(ObjectId o, bool home) const {
    return &rows_[(size_t{o.index()} * 2 + (home ? 1 : 0)) * columns_];
  }
  const double* NoRow() const { return none_.data(); }

  // What `plus` more and `minus` less there would add to what constraints cost at their
  // prices.
  double Penalty(DomainId d, const double* plus, const double* minus) const {
    const double* excess = &excess_[size_t{d.index()} * columns_];
    double penalty = 0;
    for (size_t k = 0; k < hard_; ++k) {
      const double after = excess[k] + (plus[k] - minus[k]);
      penalty += price_[k] * (std::max(after, 0.0) - std::max(excess[k], 0.0));
    }
    return penalty;
  }
  // What that would add to the weighted cost of the goals.
  double Change(DomainId d, const double* plus, const double* minus) const {
    const double* excess = &excess_[size_t{d.index()} * columns_];
    const double* scale = &scale_[size_t{d.index()} * columns_];
    double cost = 0;
    for (size_t k = hard_; k < columns_; ++k) {
      const double after = excess[k] + (plus[k] - minus[k]);
      cost += after > 0 ? after * scale[k] : 0;
    }
    return cost - cost_[d];
  }
  void Apply(DomainId d, const double* plus, const double* minus);

  // Constraints that are broken become dearer, by the factor `rise`; the others become
  // cheaper, by the factor `fall`. Both 1 or more.
  void AdjustPrices(double rise, double fall);
  // True: no constraint is broken by more than when the board was made.
  bool Keeps() const {
    for (size_t k = 0; k < hard_; ++k) {
      if (over_[k] > allowed_[k]) return false;
    }
    return true;
  }

 private:
  struct Column {
    const LoadRule* rule = nullptr;  // one of the two
    const Hinge* hinge = nullptr;
    bool sticky = false;
    double weight = 1;
  };

  std::vector<Column> Columns(const State& state, const LevelWeights& weights);
  void FillRows(const Problem& problem, const Model& model, const std::vector<Column>& columns);
  void FillDomains(const Model& model, const std::vector<Column>& columns);
  void SetPrices(const Problem& problem, double scale);
  void AddStarts(const Model& model, const std::vector<Column>& columns);

  const ScopeId scope_;
  size_t columns_ = 0;
  size_t hard_ = 0;  // the first so many columns are constraints
  bool sticky_ = false;
  std::vector<double> rows_;      // [object][away, home][column]
  std::vector<double> none_;      // [column]: 0
  std::vector<double> price_;     // [hard column]: for one unit above the limit
  std::vector<double> usual_;     // [hard column]: the price to begin with
  std::vector<double> over_;      // [hard column]: units above the limits
  std::vector<double> allowed_;   // [hard column]
  std::vector<double> excess_;    // [domain][column]: usage - limit
  std::vector<double> scale_;     // [domain][column]
  Table<DomainId, double> cost_;  // of the goals
};

}  // namespace shardmanager::solver
