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
  void Put(ObjectId o, ContainerId to) {
    around_ = ObjectId();
    if (any_large_) Count(o, to, 1);
  }
  void Lift(ObjectId o, ContainerId from) {
    around_ = ObjectId();
    if (any_large_) Count(o, from, -1);
  }

  // What `o`, which is nowhere now, costs at `to`. Negative: a rule is content there.
  void AddArrival(ObjectId o, ContainerId to, Score& score) const {
    if (rules_.empty()) return;
    if (around_ != o) LookAround(o);
    const DomainId* row = Row(to);
    for (size_t k = 0; k < rules_.size(); ++k) score[levels_[k]] += ArrivalAt(k, o, row[k]);
  }
  // What the group costs as it stands.
  void AddCost(GroupId g, Score& score) const {
    for (size_t k = 0; k < rules_.size(); ++k) score[rules_[k]->rank.level] += CostOf(k, g);
  }

  // True: the group costs something as it stands. Cheaper than the cost.
  bool Pays(GroupId g) const;
  // True: some rule asks for an object of the group elsewhere.
  bool Lacks(GroupId g) const;
  // True: some rule would rather not have lifted `o` at `at`.
  bool Pays(ObjectId o, ContainerId at) const;

  // True: some rule counts one group for more than another.
  bool weighed() const { return weighed_; }
  // For how much it counts by such rules, the one in which it counts for most; 0: by none.
  double FactorOf(GroupId g) const;

  // For explanations.
  const std::vector<const GroupRule*>& rules() const { return rules_; }
  double ArrivalOf(size_t rule, ObjectId o, ContainerId to) const {
    if (around_ != o) LookAround(o);
    return ArrivalAt(rule, o, Row(to)[rule]);
  }
  double CostOf(size_t rule, GroupId g) const;

  // Where the group would like to have an object, at that rule's scope. Invalid: it
  // does not matter.
  DomainId Wish(size_t rule, GroupId g) const;

 private:
  bool Small(GroupId g) const {
    return problem_.group_begin[g.index() + 1] - problem_.group_begin[g.index()] <= kSmallGroup;
  }
  DomainId DomainOf(ScopeId scope, ContainerId c) const {
    return scope == kContainerScope ? DomainId(c.index())
                                    : problem_.scopes[scope.index() - 1].domain_of[c];
  }
  const DomainId* Row(ContainerId c) const {
    return rows_.data() + size_t{c.index()} * rules_.size();
  }
  bool RulePays(size_t rule, GroupId g, const DomainId* const* rows, uint32_t placed) const;
  uint32_t InDomain(ScopeId scope, GroupId g, DomainId d) const;
  void LookAround(ObjectId o) const;
  double ArrivalAt(size_t rule, ObjectId o, DomainId d) const;
  uint32_t DistinctOf(ScopeId scope, GroupId g) const;
  uint32_t Above(ScopeId scope, GroupId g, uint32_t wanted) const;
  void Count(ObjectId o, ContainerId c, int change);

  const Problem& problem_;
  const Table<ObjectId, ContainerId>& where_;
  std::vector<const GroupRule*> rules_;
  std::vector<int> levels_;     // of the rules
  std::vector<DomainId> rows_;  // [container][rule]: its domain in the rule's scope
  Table<ObjectId, GroupId> group_of_;
  bool any_large_ = false;
  bool weighed_ = false;
  // What a lifted object of a small group sees of the rest of it, by rule: looked at
  // once, asked for each place. Invalid: of none.
  struct Around {
    uint32_t wanted = 0;
    uint32_t distinct = 0;     // domains in which the others are
    uint32_t others = 0;       // placed ones
    DomainId at[kSmallGroup];  // where they are
  };
  mutable ObjectId around_;
  mutable std::vector<Around> seen_;
  // By scope, for large groups, if a rule asks for it.
  std::vector<bool> counted_;
  std::vector<CountTable> in_domain_;
  std::vector<Table<GroupId, uint32_t>> distinct_;
};

}  // namespace shardmanager::solver
