#include "allocator/solver/group_board.h"

#include <algorithm>

namespace shardmanager::solver {

GroupBoard::GroupBoard(const Model& model, const Table<ObjectId, ContainerId>& where)
    : problem_(model.problem()), where_(where), group_of_(problem_.objects) {
  uint32_t largest = 0;
  for (uint32_t g = 0; g < problem_.groups(); ++g) {
    const uint32_t begin = problem_.group_begin[g];
    const uint32_t end = problem_.group_begin[g + 1];
    largest = std::max(largest, end - begin);
    for (uint32_t o = begin; o < end; ++o) group_of_[ObjectId(o)] = GroupId(g);
  }
  counted_.assign(problem_.scope_count(), false);
  in_domain_.resize(problem_.scope_count());
  distinct_.resize(problem_.scope_count());
  for (const GroupRule& rule : model.group_rules()) {
    rules_.push_back(&rule);
    levels_.push_back(rule.rank.level);
    weighed_ |= !rule.factor.empty();
    if (largest <= kSmallGroup) continue;
    any_large_ = true;
    counted_[rule.scope.index()] = true;
    distinct_[rule.scope.index()].resize(problem_.groups());
  }
  seen_.resize(rules_.size());
  rows_.reserve(problem_.containers * rules_.size());
  for (uint32_t c = 0; c < problem_.containers; ++c) {
    for (const GroupRule* rule : rules_) rows_.push_back(DomainOf(rule->scope, ContainerId(c)));
  }
}

void GroupBoard::Count(ObjectId o, ContainerId c, int change) {
  const GroupId g = group_of_[o];
  if (Small(g)) return;
  for (uint32_t s = 0; s < counted_.size(); ++s) {
    if (!counted_[s]) continue;
    const uint32_t now = in_domain_[s].Add(g, DomainOf(ScopeId(s), c), change);
    if (change > 0 && now == 1) ++distinct_[s][g];
    if (change < 0 && now == 0) --distinct_[s][g];
  }
}

uint32_t GroupBoard::DistinctOf(ScopeId scope, GroupId g) const {
  if (!Small(g)) return distinct_[scope.index()][g];
  DomainId seen[kSmallGroup];
  uint32_t distinct = 0;
  for (ObjectId o = Begin(g); o < End(g); o = ObjectId(o.index() + 1)) {
    if (!where_[o].valid()) continue;
    const DomainId d = DomainOf(scope, where_[o]);
    if (std::find(seen, seen + distinct, d) == seen + distinct) seen[distinct++] = d;
  }
  return distinct;
}

uint32_t GroupBoard::InDomain(ScopeId scope, GroupId g, DomainId d) const {
  if (!Small(g)) return in_domain_[scope.index()].Get(g, d);
  uint32_t count = 0;
  for (ObjectId o = Begin(g); o < End(g); o = ObjectId(o.index() + 1)) {
    count += where_[o].valid() && DomainOf(scope, where_[o]) == d;
  }
  return count;
}

void GroupBoard::LookAround(ObjectId o) const {
  around_ = o;
  const GroupId g = group_of_[o];
  for (size_t k = 0; k < rules_.size(); ++k) {
    const GroupRule& rule = *rules_[k];
    Around& around = seen_[k];
    around.wanted = rule.Wanted(g);
    around.others = 0;
    if (rule.kind == GroupRule::Kind::kDistinct) around.distinct = DistinctOf(rule.scope, g);
    if (!Small(g)) continue;
    for (ObjectId p = Begin(g); p < End(g); p = ObjectId(p.index() + 1)) {
      if (where_[p].valid()) around.at[around.others++] = Row(where_[p])[k];
    }
  }
}

double GroupBoard::ArrivalAt(size_t rule, ObjectId o, DomainId d) const {
  const GroupRule& r = *rules_[rule];
  const Around& around = seen_[rule];
  if (around.wanted == GroupRule::kNotForGroup) return 0;
  const GroupId g = group_of_[o];
  if (r.kind == GroupRule::Kind::kAffinity && d != r.domain[g]) return 0;
  uint32_t there = 0;
  if (Small(g)) {
    for (uint32_t i = 0; i < around.others; ++i) there += around.at[i] == d;
  } else {
    there = in_domain_[r.scope.index()].Get(g, d);
  }
  switch (r.kind) {
    case GroupRule::Kind::kAtMost:
      return there >= around.wanted ? r.Weight(g) : 0;
    case GroupRule::Kind::kDistinct:
      return there == 0 && around.distinct < around.wanted ? -r.Weight(g) : 0;
    case GroupRule::Kind::kAffinity:
      return there < around.wanted ? -r.Weight(g) : 0;
  }
  return 0;
}

// Each object counts if enough others of its domain stand before it.
uint32_t GroupBoard::Above(ScopeId scope, GroupId g, uint32_t wanted) const {
  uint32_t above = 0;
  if (!Small(g)) {
    std::vector<uint32_t> domains;
    for (ObjectId o = Begin(g); o < End(g); o = ObjectId(o.index() + 1)) {
      if (where_[o].valid()) domains.push_back(DomainOf(scope, where_[o]).index());
    }
    std::sort(domains.begin(), domains.end());
    for (size_t i = wanted; i < domains.size(); ++i) above += domains[i] == domains[i - wanted];
    return above;
  }
  for (ObjectId o = Begin(g); o < End(g); o = ObjectId(o.index() + 1)) {
    if (!where_[o].valid()) continue;
    const DomainId d = DomainOf(scope, where_[o]);
    uint32_t before = 0;
    for (ObjectId p = Begin(g); p < o; p = ObjectId(p.index() + 1)) {
      before += where_[p].valid() && DomainOf(scope, where_[p]) == d;
    }
    above += before >= wanted;
  }
  return above;
}

double GroupBoard::CostOf(size_t rule, GroupId g) const {
  const GroupRule& r = *rules_[rule];
  const uint32_t wanted = r.Wanted(g);
  if (wanted == GroupRule::kNotForGroup) return 0;
  switch (r.kind) {
    case GroupRule::Kind::kAtMost:
      if (End(g).index() - Begin(g).index() <= wanted) return 0;
      return r.Weight(g) * Above(r.scope, g, wanted);
    case GroupRule::Kind::kDistinct: {
      const uint32_t distinct = DistinctOf(r.scope, g);
      return distinct < wanted ? r.Weight(g) * (wanted - distinct) : 0;
    }
    case GroupRule::Kind::kAffinity: {
      if (!r.domain[g].valid()) return 0;
      const uint32_t there = InDomain(r.scope, g, r.domain[g]);
      return there < wanted ? r.Weight(g) * (wanted - there) : 0;
    }
  }
  return 0;
}

bool GroupBoard::RulePays(size_t rule, GroupId g, const DomainId* const* rows,
                          uint32_t placed) const {
  const GroupRule& r = *rules_[rule];
  const uint32_t wanted = r.Wanted(g);
  if (r.kind == GroupRule::Kind::kDistinct) return CostOf(rule, g) > 0;
  if (wanted == GroupRule::kNotForGroup) return false;
  if (r.kind == GroupRule::Kind::kAffinity) {
    if (!r.domain[g].valid()) return false;
    uint32_t there = 0;
    for (uint32_t i = 0; i < placed; ++i) there += rows[i][rule] == r.domain[g];
    return there < wanted;
  }
  for (uint32_t i = wanted; i < placed; ++i) {
    uint32_t before = 0;
    for (uint32_t j = 0; j < i; ++j) before += rows[j][rule] == rows[i][rule];
    if (before >= wanted) return true;
  }
  return false;
}

bool GroupBoard::Pays(GroupId g) const {
  if (!Small(g)) {
    for (size_t k = 0; k < rules_.size(); ++k) {
      if (CostOf(k, g) > 0) return true;
    }
    return false;
  }
  const DomainId* rows[kSmallGroup];
  uint32_t placed = 0;
  for (ObjectId o = Begin(g); o < End(g); o = ObjectId(o.index() + 1)) {
    if (where_[o].valid()) rows[placed++] = Row(where_[o]);
  }
  for (size_t k = 0; k < rules_.size(); ++k) {
    if (RulePays(k, g, rows, placed)) return true;
  }
  return false;
}

bool GroupBoard::Lacks(GroupId g) const {
  for (size_t k = 0; k < rules_.size(); ++k) {
    if (rules_[k]->kind != GroupRule::Kind::kAtMost && CostOf(k, g) > 0) return true;
  }
  return false;
}

bool GroupBoard::Pays(ObjectId o, ContainerId at) const {
  for (size_t k = 0; k < rules_.size(); ++k) {
    if (ArrivalOf(k, o, at) > 0) return true;
  }
  return false;
}

double GroupBoard::FactorOf(GroupId g) const {
  double factor = 0;
  for (const GroupRule* rule : rules_) {
    if (!rule->factor.empty()) factor = std::max(factor, rule->factor[g]);
  }
  return factor;
}

DomainId GroupBoard::Wish(size_t rule, GroupId g) const {
  const GroupRule& r = *rules_[rule];
  return r.kind == GroupRule::Kind::kAffinity ? r.domain[g] : DomainId();
}

}  // namespace shardmanager::solver
