// The group rules for the annealer: how many objects of a group stand in each domain,
// so that what a move changes is a look-up whatever the size of the group.
#pragma once

#include <vector>

#include "allocator/solver/count_table.h"
#include "allocator/solver/hinge_board.h"
#include "allocator/solver/state.h"

namespace shardmanager::solver {

class GroupCounts {
 public:
  GroupCounts(const State& state, const LevelWeights& weights);

  // Adds to `change` what moving `o`, which stands at `from`, costs the goals. False: a
  // constraint would be broken, or more so.
  bool AddChange(ObjectId o, ContainerId from, ContainerId to, double& change) const {
    return !concerned_[o] || AddChangeOfGroup(state_.group_board().GroupOf(o), from, to, change);
  }
  void Apply(ObjectId o, ContainerId from, ContainerId to);

 private:
  // Counts in one scope that rules ask for.
  struct Board {
    ScopeId scope;
    uint32_t domains = 0;
    std::vector<uint16_t> dense;  // [row][domain], if there are not too many
    CountTable sparse;
    std::vector<uint32_t> distinct;  // by row
  };
  struct Rule {
    const GroupRule* rule;
    uint32_t board = 0;  // in boards_
    double weight = 0;   // 0: a constraint
  };

  bool Concerns(const GroupRule& rule, GroupId g) const;
  bool AddChangeOfGroup(GroupId g, ContainerId from, ContainerId to, double& change) const;
  double ChangeOf(const Rule& rule, GroupId g, DomainId from, DomainId to) const;
  uint32_t Count(const Board& board, GroupId g, DomainId d) const {
    const uint32_t row = row_of_[g];
    return board.dense.empty() ? board.sparse.Get(GroupId(row), d)
                               : board.dense[size_t{row} * board.domains + d.index()];
  }
  uint32_t Add(Board& board, GroupId g, DomainId d, int by);
  void Place(ObjectId o, ContainerId c, int by);

  const State& state_;
  Table<GroupId, uint32_t> row_of_;  // of groups that a rule concerns
  Table<ObjectId, bool> concerned_;
  std::vector<Board> boards_;
  std::vector<Rule> rules_;
};

}  // namespace shardmanager::solver
