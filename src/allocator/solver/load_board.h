// The load rules of one scope, and the usage that they look at: everything that a
// look at one domain needs lies in one row.
#pragma once

#include <vector>

#include "allocator/solver/model.h"

namespace shardmanager::solver {

class LoadBoard {
 public:
  // Takes the model's rules for this scope. Usage starts at the problem's base.
  LoadBoard(const Model& model, ScopeId scope);

  ScopeId scope() const { return scope_; }

  // `load` and usages have one entry for each dimension.
  void Add(DomainId d, const Load* load) {
    Amount* usage = &usage_[Row(d)];
    for (size_t i = 0; i < dimensions_; ++i) usage[i] += load[i];
  }
  void Remove(DomainId d, const Load* load) {
    Amount* usage = &usage_[Row(d)];
    for (size_t i = 0; i < dimensions_; ++i) usage[i] -= load[i];
  }

  // True: `load` more would break no rule.
  bool Fits(DomainId d, const Load* load) const {
    const Amount* usage = &usage_[Row(d)];
    const Amount* tightest = &tightest_[Row(d)];
    bool fits = true;
    for (size_t i = 0; i < dimensions_; ++i) fits &= usage[i] + load[i] <= tightest[i];
    return fits;
  }
  // True: some rule is broken.
  bool Over(DomainId d) const {
    const Amount* usage = &usage_[Row(d)];
    const Amount* tightest = &tightest_[Row(d)];
    bool over = false;
    for (size_t i = 0; i < dimensions_; ++i) over |= usage[i] > tightest[i];
    return over;
  }
  // How far it is above its tightest limit; 0 or less: it is not.
  Amount Excess(DomainId d, uint32_t dimension) const {
    return usage_[Row(d) + dimension] - tightest_[Row(d) + dimension];
  }
  // What `load` more costs.
  void AddArrival(DomainId d, const Load* load, Score& score) const;
  // What is saved if `load` of what is there leaves; as a negative change.
  void AddDeparture(DomainId d, const Load* load, Score& change) const;
  // What is to be paid already.
  void AddCost(DomainId d, Score& score) const;
  // How full it is: the largest usage over the tightest limit of any dimension.
  double Fill(DomainId d) const;
  bool SameRow(DomainId a, DomainId b) const;

  Amount usage(DomainId d, uint32_t dimension) const { return usage_[Row(d) + dimension]; }

  // For explanations: rules in the order of the model's list.
  struct Rule {
    const LoadRule* rule;
    int level;
    uint32_t dimension;
  };
  const std::vector<Rule>& rules() const { return rules_; }
  double CostOf(size_t rule, DomainId d) const;
  double ArrivalOf(size_t rule, DomainId d, const Load* load) const;

 private:
  struct Cell {
    Amount limit;
    double scale;
  };
  size_t Row(DomainId d) const { return size_t{d.index()} * dimensions_; }
  const Cell* Cells(DomainId d) const { return cells_.data() + size_t{d.index()} * rules_.size(); }

  const ScopeId scope_;
  const size_t dimensions_;
  std::vector<Rule> rules_;
  std::vector<Cell> cells_;       // [domain][rule]
  std::vector<Amount> tightest_;  // [domain][dimension]: the smallest limit
  std::vector<Amount> usage_;     // [domain][dimension]
};

}  // namespace shardmanager::solver
