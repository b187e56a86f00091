// The group rules, and where the groups' objects are. Small groups are looked
// through; for large ones the objects in each domain are counted.
#pragma once

#include <vector>

#include "allocator/solver/count_table.h"
#include "allocator/solver/model.h"

namespace shardmanager::solver {

class GroupBoard {
 public:
  // Objects of groups beyond this size are counted.
  static constexpr uint32_t kSmallGroup = 16;

  // `where`: of each object; invalid: nowhere. Outlives the board and is kept up to
  // date by the owner, together with Put() and Lift().
  GroupBoard(const Model& model, const Table<ObjectId, ContainerId>& where);

  GroupId GroupOf(ObjectId o) const { return group_of_[o]; }
  ObjectId Begin(GroupId g) const { return ObjectId(problem_.group_begin[g.index()]); }
  ObjectId End(GroupId g) const { return ObjectId(problem_.group_begin[g.index() + 1]); }
  bool empty() const { return rules_.empty(); }

  // REQUIRES: where[o] is set already (Put), or unset already (Lift).
  void Put(ObjectId o, ContainerId to) { Count(o, to, 1); }
  void Lift(ObjectId o, ContainerId from) { Count(o, from, -1); }

  // What `o`, which is nowhere now, costs at `to`. Negative: a rule is content there.
  void AddArrival(ObjectId o, ContainerId to, Score& score) const {
    if (rules_.empty()) return;
    for (size_t k = 0; k < rules_.size(); ++k) score[rules_[k]->rank.level] += ArrivalOf(k, o, to);
  }
  // What the group costs as it stands.
  void AddCost(GroupId g, Score& score) const {
    for (size_t k = 0; k < rules_.size(); ++k) score[rules_[k]->rank.level] += CostOf(k, g);
  }

  // For explanations.
  const std::vector<const GroupRule*>& rules() const { return rules_; }
  double ArrivalOf(size_t rule, ObjectId o, ContainerId to) const;
  double CostOf(size_t rule, GroupId g) const;

  // Where the group would like to have an object, at that rule's scope. Invalid: it
  // does not matter.
  DomainId Wish(size_t rule, GroupId g) const;

 private:
  struct Presence {
    uint32_t in_domain = 0;  // objects of the group there
    uint32_t distinct = 0;   // domains in which the group is
  };

  bool Small(GroupId g) const {
    return problem_.group_begin[g.index() + 1] - problem_.group_begin[g.index()] <= kSmallGroup;
  }
  DomainId DomainOf(ScopeId scope, ContainerId c) const {
    return scope == kContainerScope ? DomainId(c.index())
                                    : problem_.scopes[scope.index() - 1].domain_of[c];
  }
  Presence Look(ScopeId scope, GroupId g, DomainId d, bool want_distinct) const;
  uint32_t DistinctOf(ScopeId scope, GroupId g) const;
  uint32_t Above(ScopeId scope, GroupId g, uint32_t wanted) const;
  void Count(ObjectId o, ContainerId c, int change);

  const Problem& problem_;
  const Table<ObjectId, ContainerId>& where_;
  std::vector<const GroupRule*> rules_;
  Table<ObjectId, GroupId> group_of_;
  // By scope, for large groups, if a rule asks for it.
  std::vector<bool> counted_;
  std::vector<CountTable> in_domain_;
  std::vector<Table<GroupId, uint32_t>> distinct_;
};

}  // namespace shardmanager::solver
