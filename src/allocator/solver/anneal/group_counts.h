// The group rules for the annealer: how many objects of a group stand in each domain,
// so that what a move changes is a look-up whatever the size of the group.
#pragma once

#include <algorithm>
#include <vector>

#include "allocator/solver/anneal/hinge_board.h"
#include "allocator/solver/anneal/price.h"
#include "allocator/solver/count_table.h"
#include "allocator/solver/state.h"

namespace shardmanager::solver {

class GroupCounts {
 public:
  // `unit`: what it costs at first to break a constraint by one object.
  GroupCounts(const State& state, const LevelWeights& weights, double unit);

  // What moving `o`, which stands at `from`, adds to the cost of the goals, and of the
  // constraints at their prices.
  double Rise(ObjectId o, ContainerId from, ContainerId to) const {
    return row_of_[o] == kNoRow ? 0 : RiseOfRow(row_of_[o], from, to);
  }
  // Returns what it added to the cost of the goals.
  double Apply(ObjectId o, ContainerId from, ContainerId to);

  void AdjustPrices(const Price::Policy& policy) {
    for (Rule& rule : rules_) rule.price.Adjust(policy);
  }
  void Settle() {
    for (Rule& rule : rules_) rule.price.Settle();
  }
  bool Keeps() const {
    return std::none_of(rules_.begin(), rules_.end(),
                        [](const Rule& rule) { return rule.price.Broken(); });
  }

 private:
  static constexpr uint32_t kNoRow = UINT32_MAX;

  // Counts in one scope that rules ask for.
  struct Board {
    ScopeId scope;
    uint32_t domains = 0;
    std::vector<DomainId> domain_of;  // by container
    std::vector<uint16_t> dense;      // [row][domain], if there are not too many
    CountTable sparse;
    std::vector<uint32_t> distinct;  // by row
  };
  struct Rule {
    GroupRule::Kind kind;
    bool hard;
    uint32_t board;                // in boards_
    double weight;                 // of a goal
    Price price;                   // of a constraint
    std::vector<uint32_t> wanted;  // by row; kNotForGroup: it never costs anything
    std::vector<DomainId> domain;  // by row; kAffinity only
    std::vector<double> factor;    // by row; empty: 1
  };

  bool Concerns(const GroupRule& rule, GroupId g) const;
  uint32_t BoardFor(ScopeId scope);
  // Units by which the group breaks the rule, as it stands.
  double BrokenBy(const GroupRule& rule, GroupId g) const;
  void AddRule(const GroupRule& rule, const LevelWeights& weights, double unit);
  double RiseOfRow(uint32_t row, ContainerId from, ContainerId to) const;
  // In objects, or domains, times the factor of the group.
  double ChangeOf(const Rule& rule, uint32_t row, DomainId from, DomainId to) const {
    const double units = UnitsOf(rule, row, from, to);
    return rule.factor.empty() ? units : units * rule.factor[row];
  }
  double UnitsOf(const Rule& rule, uint32_t row, DomainId from, DomainId to) const;
  uint32_t Count(const Board& board, uint32_t row, DomainId d) const {
    return board.dense.empty() ? board.sparse.Get(GroupId(row), d)
                               : board.dense[size_t{row} * board.domains + d.index()];
  }
  uint32_t Add(Board& board, uint32_t row, DomainId d, int by);
  void Place(uint32_t row, ContainerId c, int by);

  const State& state_;
  std::vector<GroupId> groups_;       // by row: those that a rule concerns
  Table<ObjectId, uint32_t> row_of_;  // of its group
  std::vector<Board> boards_;
  std::vector<Rule> rules_;
};

}  // namespace shardmanager::solver
