#include "allocator/solver/anneal/change_meter.h"

namespace shardmanager::solver {
namespace {

// To begin with, one broken constraint costs as much as the goals for one object.
double UnitOf(const State& state, double scale) {
  return scale / std::max<double>(1, state.problem().objects);
}

}  // namespace

ChangeMeter::ChangeMeter(State& state, const LevelWeights& weights, double scale)
    : state_(state),
      model_(state.model()),
      weights_(weights),
      start_(state.problem().start),
      closed_(state.problem().closed),
      groups_(state, weights, UnitOf(state, scale)) {
  for (uint32_t s = 0; s < state.problem().scope_count(); ++s) {
    HingeBoard board(state, ScopeId(s), weights, scale);
    if (!board.empty()) boards_.push_back(std::move(board));
  }
  for (const auto& rule : state.custom()) AddCustom(*rule, UnitOf(state, scale));
  SetMostSaved();
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

void ChangeMeter::AddCustom(CustomRule& rule, double unit) {
  if (rule.hinge() != nullptr) return;  // the boards have it
  const bool hard = rule.level() == kConstraintLevel;
  if (!hard && Weight(rule.level()) <= 0) return;
  customs_.push_back({.rule = &rule,
                      .hard = hard,
                      .weight = Weight(rule.level()),
                      .price = Price(unit, state_.problem().objects, hard ? rule.Total() : 0)});
}

void ChangeMeter::SetMostSaved() {
  most_saved_ = 0;
  for (const Custom& c : customs_) {
    // No more is saved of a constraint than is broken.
    const double saved = c.hard ? c.price.broken() : c.rule->MostSaved();
    if (saved > 0) most_saved_ += saved * (c.Factor() + c.slope);
  }
}

void ChangeMeter::AdjustPrices(const Price::Policy& policy) {
  for (HingeBoard& board : boards_) board.AdjustPrices(policy);
  groups_.AdjustPrices(policy);
  for (Custom& c : customs_) {
    if (c.hard) c.price.Adjust(policy);
  }
  SetMostSaved();
}

void ChangeMeter::Settle() {
  for (HingeBoard& board : boards_) board.Settle();
  groups_.Settle();
  for (Custom& c : customs_) c.price.Settle();
}

void ChangeMeter::FollowSlopes(const LevelWeights& parts) {
  for (Custom& c : customs_) {
    if (!c.hard) c.slope = parts[static_cast<size_t>(c.rule->level())] * c.weight;
  }
  SetMostSaved();
}

bool ChangeMeter::Keeps() const {
  const auto keeps = [](const auto& part) { return part.Keeps(); };
  const auto broken = [](const Custom& c) { return c.hard && c.price.Broken(); };
  return std::all_of(boards_.begin(), boards_.end(), keeps) && groups_.Keeps() &&
         std::none_of(customs_.begin(), customs_.end(), broken);
}

const HingeBoard::Lane* ChangeMeter::Within(const HingeBoard& board, ObjectId o, ObjectId other,
                                            ContainerId from, ContainerId to) const {
  within_.assign(board.lanes(), HingeBoard::Lane{});
  const auto add = [&](const HingeBoard::Lane* plus, const HingeBoard::Lane* minus) {
    for (size_t i = 0; i < within_.size(); ++i) within_[i] += plus[i] - minus[i];
  };
  add(board.Row(o, Home(o, to)), board.Row(o, Home(o, from)));
  if (other.valid()) add(board.Row(other, Home(other, from)), board.Row(other, Home(other, to)));
  return within_.data();
}

// `other`, if valid, goes the other way.
double ChangeMeter::LoadRise(ObjectId o, ObjectId other, ContainerId from, ContainerId to,
                             double limit) const {
  double rise = 0;
  for (const HingeBoard& board : boards_) {
    const DomainId here = model_.DomainOf(board.scope(), from);
    const DomainId there = model_.DomainOf(board.scope(), to);
    if (here == there) {
      if (board.sticky())
        rise += board.Rise(here, Within(board, o, other, from, to), board.NoRow());
      continue;
    }
    const bool alone = !other.valid();
    const HingeBoard::Lane* none = board.NoRow();
    rise += board.Rise(there, board.Row(o, Home(o, to)),
                       alone ? none : board.Row(other, Home(other, to)));
    // No more is saved than there is.
    if (rise - board.Cost(here) > limit && &board == &boards_.back())
      return rise - board.Cost(here);
    rise += board.Rise(here, alone ? none : board.Row(other, Home(other, from)),
                       board.Row(o, Home(o, from)));
  }
  return rise;
}

bool ChangeMeter::Forbids(ObjectId o, ContainerId from, ContainerId to) const {
  if (!closed_.empty() && closed_[to] && !Home(o, to)) return true;
  if (plain_) return false;
  const auto& containers = model_.container_rules();
  const auto& objects = model_.object_rules();
  return std::any_of(containers.begin(), containers.end(),
                     [&](const ContainerRule& rule) {
                       return rule.level == kConstraintLevel && rule.cost[to] > rule.cost[from];
                     }) ||
         std::any_of(objects.begin(), objects.end(), [&](const ObjectRule& rule) {
           return rule.rank.level == kConstraintLevel &&
                  state_.ObjectRuleCost(rule, o, to) > state_.ObjectRuleCost(rule, o, from);
         });
}

double ChangeMeter::OwnRise(ObjectId o, ContainerId from, ContainerId to) const {
  double rise = 0;
  if (move_cost_.empty()) {
    const int level = model_.movement().rank.level;
    rise += Weight(level) * (state_.MovementCost(o, to) - state_.MovementCost(o, from));
  } else {
    rise += move_cost_[o] * (static_cast<int>(Home(o, from)) - static_cast<int>(Home(o, to)));
  }
  if (plain_) return rise;
  for (const ContainerRule& rule : model_.container_rules()) {
    rise += Weight(rule.level) * (rule.cost[to] - rule.cost[from]);
  }
  for (const ObjectRule& rule : model_.object_rules()) {
    rise += Weight(rule.rank.level) *
            (state_.ObjectRuleCost(rule, o, to) - state_.ObjectRuleCost(rule, o, from));
  }
  return rise;
}

// What is looked up at once first; the custom rules only if they still may save the move.
double ChangeMeter::OfMove(ObjectId o, ContainerId to, double limit) const {
  const ContainerId from = state_.where(o);
  if (Forbids(o, from, to)) return kForbidden;
  double rise = OwnRise(o, from, to) + groups_.Rise(o, from, to);
  rise += LoadRise(o, ObjectId(), from, to, limit + most_saved_ - rise);
  if (rise > limit + most_saved_) return rise;
  for (const Custom& c : customs_) {
    rise += CustomRise(c, c.rule->MoveChange(o, from, to));
    if (c.slope > 0) rise += c.slope * c.rule->MoveSlope(o, from, to);
  }
  return rise;
}

double ChangeMeter::OfSwap(ObjectId a, ObjectId b, double limit) const {
  const ContainerId at_a = state_.where(a);
  const ContainerId at_b = state_.where(b);
  if (Forbids(a, at_a, at_b) || Forbids(b, at_b, at_a)) return kForbidden;
  double rise = OwnRise(a, at_a, at_b) + OwnRise(b, at_b, at_a);
  // Objects of one group leave it standing as it does.
  if (state_.group_board().GroupOf(a) != state_.group_board().GroupOf(b)) {
    rise += groups_.Rise(a, at_a, at_b) + groups_.Rise(b, at_b, at_a);
  }
  rise += LoadRise(a, b, at_a, at_b, limit + most_saved_ - rise);
  if (rise > limit + most_saved_) return rise;
  for (const Custom& c : customs_) {
    rise += CustomRise(c, c.rule->SwapChange(a, at_a, b, at_b));
    if (c.slope > 0) rise += c.slope * c.rule->SwapSlope(a, at_a, b, at_b);
  }
  return rise;
}

double ChangeMeter::Move(ObjectId o, ContainerId to) {
  const ContainerId from = state_.where(o);
  double goals = OwnRise(o, from, to);
  for (HingeBoard& board : boards_) {
    goals += board.Apply(model_.DomainOf(board.scope(), from), board.NoRow(),
                         board.Row(o, Home(o, from)));
    goals +=
        board.Apply(model_.DomainOf(board.scope(), to), board.Row(o, Home(o, to)), board.NoRow());
  }
  goals += groups_.Apply(o, from, to);
  for (Custom& c : customs_) {
    const double change = c.rule->MoveChange(o, from, to);
    if (c.hard) {
      c.price.Add(change);
    } else {
      goals += c.weight * change;
    }
  }
  SetMostSaved();
  state_.Move(o, to);
  return goals;
}

}  // namespace shardmanager::solver
