#include "allocator/solver/state.h"

#include <algorithm>

namespace shardmanager::solver {

State::State(const Model& model)
    : model_(model),
      problem_(model.problem()),
      where_(problem_.objects),
      on_(problem_.containers),
      position_(problem_.objects),
      groups_(model, where_),
      load_at_(model.dimensions().size()) {
  boards_.emplace_back(model, kContainerScope);
  for (uint32_t s = 1; s < problem_.scope_count(); ++s) {
    LoadBoard board(model, ScopeId(s));
    if (!board.rules().empty()) boards_.push_back(std::move(board));
  }
  for (const Dimension& d : model.dimensions()) any_sticky_ |= d.sticky;
  if (any_sticky_) AddStickyLoads();
  for (const CustomRuleFactory& make : model.custom_rules()) custom_.push_back(make(problem_));
  const size_t expected = problem_.containers == 0 ? 0 : problem_.objects / problem_.containers;
  if (expected > 0) {
    for (auto& list : on_) list.reserve(expected + expected / 4 + 4);
  }
  for (uint32_t i = 0; i < problem_.objects; ++i) {
    const ObjectId o(i);
    if (problem_.start[o].valid()) Put(o, problem_.start[o], ContainerId());
  }
}

// In a sticky dimension an object counts at its start for ever.
void State::AddStickyLoads() {
  for (uint32_t i = 0; i < problem_.objects; ++i) {
    const ContainerId start = problem_.start[ObjectId(i)];
    if (!start.valid()) continue;
    const auto load = problem_.LoadOf(ObjectId(i));
    for (size_t d = 0; d < load_at_.size(); ++d) {
      const Dimension& dimension = model_.dimensions()[d];
      load_at_[d] = dimension.sticky ? load[dimension.metric.index()] : 0;
    }
    for (LoadBoard& board : boards_) {
      board.Add(model_.DomainOf(board.scope(), start), load_at_.data());
    }
  }
}

const Load* State::StickyLoadAt(ObjectId o, ContainerId c, const Load* load) const {
  const bool home = problem_.start[o] == c;
  for (size_t i = 0; i < load_at_.size(); ++i) {
    const Dimension& d = model_.dimensions()[i];
    // There it counts already (AddStickyLoads).
    load_at_[i] = d.sticky && home ? 0 : load[d.metric.index()];
  }
  return load_at_.data();
}

void State::AddToBoards(ObjectId o, ContainerId c) {
  const Load* load = LoadAt(o, c);
  for (LoadBoard& board : boards_) board.Add(model_.DomainOf(board.scope(), c), load);
}

void State::RemoveFromBoards(ObjectId o, ContainerId c) {
  const Load* load = LoadAt(o, c);
  for (LoadBoard& board : boards_) board.Remove(model_.DomainOf(board.scope(), c), load);
}

void State::List(ObjectId o, ContainerId c) {
  position_[o] = static_cast<uint32_t>(on_[c].size());
  on_[c].push_back(o);
}

void State::Unlist(ObjectId o, ContainerId c) {
  std::vector<ObjectId>& list = on_[c];
  const ObjectId last = list.back();
  list[position_[o]] = last;
  position_[last] = position_[o];
  list.pop_back();
}

ContainerId State::Lift(ObjectId o) {
  const ContainerId from = where_[o];
  if (!from.valid()) return from;
  moved_ -= from != problem_.start[o];
  where_[o] = ContainerId();
  RemoveFromBoards(o, from);
  groups_.Lift(o, from);
  for (const auto& rule : custom_) rule->Lift(o, from);
  return from;
}

void State::Put(ObjectId o, ContainerId to, ContainerId from) {
  where_[o] = to;
  if (to != from) {
    if (from.valid()) Unlist(o, from);
    if (to.valid()) List(o, to);
  }
  if (!to.valid()) return;
  moved_ += to != problem_.start[o];
  AddToBoards(o, to);
  groups_.Put(o, to);
  for (const auto& rule : custom_) rule->Put(o, to);
}

Score State::Arrival(ObjectId o, ContainerId to, bool fits) {
  ++steps_;
  Score score;
  if (!to.valid()) {
    score[kUnplacedLevel] = 1;
    return score;
  }
  if (ClosedTo(o, to)) score[kConstraintLevel] += 1;
  if (!fits) {
    const Load* load = LoadAt(o, to);
    for (const LoadBoard& board : boards_) {
      board.AddArrival(model_.DomainOf(board.scope(), to), load, score);
    }
  }
  groups_.AddArrival(o, to, score);
  for (const ContainerRule& rule : model_.container_rules()) score[rule.level] += rule.cost[to];
  for (const ObjectRule& rule : model_.object_rules()) {
    score[rule.rank.level] += ObjectRuleCost(rule, o, to);
  }
  for (const auto& rule : custom_) score[rule->level()] += rule->Arrival(o, to);
  if (to != problem_.start[o]) score[model_.movement().rank.level] += MovementCost(o, to);
  return score;
}

Score State::Relief(ObjectId o, ContainerId c) const {
  Score change;
  const Load* load = LoadAt(o, c);
  for (const LoadBoard& board : boards_) {
    board.AddDeparture(model_.DomainOf(board.scope(), c), load, change);
  }
  for (const ContainerRule& rule : model_.container_rules()) change[rule.level] -= rule.cost[c];
  return change;
}

bool State::Alike(ContainerId a, ContainerId b) const {
  if (a == b) return true;
  if (!boards_.front().SameRow(DomainId(a.index()), DomainId(b.index()))) return false;
  if (!on_[a].empty() || !on_[b].empty() || !custom_.empty()) return false;
  for (uint32_t s = 1; s < problem_.scope_count(); ++s) {
    if (model_.DomainOf(ScopeId(s), a) != model_.DomainOf(ScopeId(s), b)) return false;
  }
  return std::all_of(model_.container_rules().begin(), model_.container_rules().end(),
                     [&](const ContainerRule& rule) { return rule.cost[a] == rule.cost[b]; });
}

bool State::Fits(ObjectId o, ContainerId to) const {
  const Load* load = LoadAt(o, to);
  return std::all_of(boards_.begin(), boards_.end(), [&](const LoadBoard& board) {
    return board.Fits(model_.DomainOf(board.scope(), to), load);
  });
}

double State::MovementCost(ObjectId o, ContainerId to) const {
  const MovementRule& rule = model_.movement();
  if (!problem_.start[o].valid() || problem_.start[o] == to) return 0;
  const GroupId g = groups_.GroupOf(o);
  double cost = rule.cost.empty() ? 1 : rule.cost[o];
  if (groups_.End(g).index() - groups_.Begin(g).index() <= GroupBoard::kSmallGroup) {
    for (ObjectId other = groups_.Begin(g); other < groups_.End(g);
         other = ObjectId(other.index() + 1)) {
      if (problem_.start[other] == to) cost *= rule.within_group;
    }
  }
  return rule.rank.weight * cost;
}

double State::ObjectRuleCost(const ObjectRule& rule, ObjectId o, ContainerId to) const {
  const auto entry = rule.domains.find(o.index());
  if (entry == rule.domains.end()) return 0;
  const bool inside = std::binary_search(entry->second.begin(), entry->second.end(),
                                         model_.DomainOf(rule.scope, to));
  return inside == rule.avoid ? rule.rank.weight : 0;
}

Score State::LoadCost(ContainerId c) const {
  Score score;
  for (const LoadBoard& board : boards_) board.AddCost(model_.DomainOf(board.scope(), c), score);
  return score;
}

Score State::GroupCost(GroupId g) const {
  Score score;
  groups_.AddCost(g, score);
  return score;
}

bool State::Overloaded(ContainerId c) const {
  return std::any_of(boards_.begin(), boards_.end(), [&](const LoadBoard& board) {
    return board.Over(model_.DomainOf(board.scope(), c));
  });
}

bool State::PaysElsewhere(ContainerId c) const {
  for (size_t b = 1; b < boards_.size(); ++b) {
    if (boards_[b].Over(model_.DomainOf(boards_[b].scope(), c))) return true;
  }
  return !on_[c].empty() &&
         std::any_of(model_.container_rules().begin(), model_.container_rules().end(),
                     [c](const ContainerRule& r) { return r.cost[c] > 0; });
}

Score State::Total() const {
  Score total;
  for (const LoadBoard& board : boards_) {
    for (uint32_t d = 0; d < model_.DomainCount(board.scope()); ++d) {
      board.AddCost(DomainId(d), total);
    }
  }
  for (uint32_t g = 0; g < problem_.groups(); ++g) groups_.AddCost(GroupId(g), total);
  for (uint32_t i = 0; i < problem_.objects; ++i) {
    const ObjectId o(i);
    const ContainerId at = where_[o];
    if (!at.valid()) {
      total[kUnplacedLevel] += 1;
      continue;
    }
    if (ClosedTo(o, at)) total[kConstraintLevel] += 1;
    for (const ContainerRule& rule : model_.container_rules()) total[rule.level] += rule.cost[at];
    for (const ObjectRule& rule : model_.object_rules()) {
      total[rule.rank.level] += ObjectRuleCost(rule, o, at);
    }
    total[model_.movement().rank.level] += MovementCost(o, at);
  }
  for (const auto& rule : custom_) total[rule->level()] += rule->Total();
  return total;
}

std::vector<bool> LevelsInUse(const State& state) {
  std::vector<bool> used(kLevels);
  const auto use = [&](int level) { used[static_cast<size_t>(level)] = true; };
  for (const LoadRule& rule : state.model().load_rules()) use(rule.level);
  for (const GroupRule& rule : state.model().group_rules()) use(rule.rank.level);
  for (const ContainerRule& rule : state.model().container_rules()) use(rule.level);
  for (const ObjectRule& rule : state.model().object_rules()) use(rule.rank.level);
  for (const auto& rule : state.custom()) use(rule->level());
  use(state.model().movement().rank.level);
  return used;
}

}  // namespace shardmanager::solver
