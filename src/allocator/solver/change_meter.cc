#include "allocator/solver/change_meter.h"

namespace shardmanager::solver {

ChangeMeter::ChangeMeter(State& state, const LevelWeights& weights, double scale)
    : state_(state),
      model_(state.model()),
      weights_(weights),
      start_(state.problem().start),
      closed_(state.problem().closed),
      groups_(state, weights) {
  for (uint32_t s = 0; s < state.problem().scope_count(); ++s) {
    HingeBoard board(state, ScopeId(s), weights, scale);
    if (!board.empty()) boards_.push_back(std::move(board));
  }
  for (const auto& rule : state.custom()) {
    if (rule->hinge() != nullptr) continue;
    if (rule->level() == kConstraintLevel) {
      hard_.push_back({rule.get(), 0});
    } else if (Weight(rule->level()) > 0) {
      goals_.push_back({rule.get(), Weight(rule->level())});
    }
  }
  plain_ = model_.container_rules().empty() && model_.object_rules().empty();
  const MovementRule& movement = model_.movement();
  if (movement.within_group != 1) return;
  for (uint32_t i = 0; i < state.problem().objects; ++i) {
    const double cost = movement.cost.empty() ? 1 : movement.cost[ObjectId(i)];
    move_cost_.push_back(start_[ObjectId(i)].valid()
                             ? cost * movement.rank.weight * Weight(movement.rank.level)
                             : 0);
  }
}

const double* ChangeMeter::Within(const HingeBoard& board, ObjectId o, ObjectId other,
                                  ContainerId from, ContainerId to) const {
  within_.assign(board.columns(), 0);
  const auto add = [&](const double* plus, const double* minus) {
    for (size_t k = 0; k < within_.size(); ++k) within_[k] += plus[k] - minus[k];
  };
  add(board.Row(o, Home(o, to)), board.Row(o, Home(o, from)));
  if (other.valid()) add(board.Row(other, Home(other, from)), board.Row(other, Home(other, to)));
  return within_.data();
}

// `other`, if valid, goes the other way.
void ChangeMeter::AddLoadChange(ObjectId o, ObjectId other, ContainerId from, ContainerId to,
                                Change& change) const {
  for (const HingeBoard& board : boards_) {
    const DomainId here = model_.DomainOf(board.scope(), from);
    const DomainId there = model_.DomainOf(board.scope(), to);
    if (here == there) {
      if (!board.sticky()) continue;
      const double* within = Within(board, o, other, from, to);
      change.penalty += board.Penalty(here, within, board.NoRow());
      change.goals += board.Change(here, within, board.NoRow());
      continue;
    }
    const double* comes = board.Row(o, Home(o, to));
    const double* left = board.Row(o, Home(o, from));
    const double* leaves = other.valid() ? board.Row(other, Home(other, to)) : board.NoRow();
    const double* taken = other.valid() ? board.Row(other, Home(other, from)) : board.NoRow();
    change.penalty += board.Penalty(there, comes, leaves) + board.Penalty(here, taken, left);
    change.goals += board.Change(there, comes, leaves) + board.Change(here, taken, left);
  }
}

bool ChangeMeter::AddOwnChange(ObjectId o, ContainerId from, ContainerId to, double& change) const {
  if (move_cost_.empty()) {
    const int level = model_.movement().rank.level;
    change += Weight(level) * (state_.MovementCost(o, to) - state_.MovementCost(o, from));
  } else {
    change += move_cost_[o] * (static_cast<int>(Home(o, from)) - static_cast<int>(Home(o, to)));
  }
  if (plain_) return true;
  for (const ContainerRule& rule : model_.container_rules()) {
    const double more = rule.cost[to] - rule.cost[from];
    if (rule.level == kConstraintLevel && more > 0) return false;
    change += Weight(rule.level) * more;
  }
  for (const ObjectRule& rule : model_.object_rules()) {
    const double more = state_.ObjectRuleCost(rule, o, to) - state_.ObjectRuleCost(rule, o, from);
    if (rule.rank.level == kConstraintLevel && more > 0) return false;
    change += Weight(rule.rank.level) * more;
  }
  return true;
}

ChangeMeter::Change ChangeMeter::OfMove(ObjectId o, ContainerId to) {
  const ContainerId from = state_.where(o);
  Change change;
  if (!Open(o, to) || !groups_.AddChange(o, from, to, change.goals) ||
      !AddOwnChange(o, from, to, change.goals)) {
    return {kForbidden};
  }
  for (const Custom& c : hard_) {
    if (c.rule->MoveChange(o, from, to) > 0) return {kForbidden};
  }
  AddLoadChange(o, ObjectId(), from, to, change);
  for (const Custom& c : goals_) change.goals += c.weight * c.rule->MoveChange(o, from, to);
  return change;
}

ChangeMeter::Change ChangeMeter::OfSwap(ObjectId a, ObjectId b) {
  const ContainerId at_a = state_.where(a);
  const ContainerId at_b = state_.where(b);
  Change change;
  if (!Open(a, at_b) || !Open(b, at_a)) return {kForbidden};
  // Objects of one group leave it standing as it does.
  if (state_.group_board().GroupOf(a) != state_.group_board().GroupOf(b) &&
      (!groups_.AddChange(a, at_a, at_b, change.goals) ||
       !groups_.AddChange(b, at_b, at_a, change.goals))) {
    return {kForbidden};
  }
  if (!AddOwnChange(a, at_a, at_b, change.goals) || !AddOwnChange(b, at_b, at_a, change.goals)) {
    return {kForbidden};
  }
  for (const Custom& c : hard_) {
    if (c.rule->SwapChange(a, at_a, b, at_b) > 0) return {kForbidden};
  }
  AddLoadChange(a, b, at_a, at_b, change);
  for (const Custom& c : goals_) change.goals += c.weight * c.rule->SwapChange(a, at_a, b, at_b);
  return change;
}

void ChangeMeter::Move(ObjectId o, ContainerId to) {
  const ContainerId from = state_.where(o);
  for (HingeBoard& board : boards_) {
    board.Apply(model_.DomainOf(board.scope(), from), board.NoRow(), board.Row(o, Home(o, from)));
    board.Apply(model_.DomainOf(board.scope(), to), board.Row(o, Home(o, to)), board.NoRow());
  }
  groups_.Apply(o, from, to);
  state_.Move(o, to);
}

}  // namespace shardmanager::solver
