#include "allocator/solver/hinge_board.h"

#include <cmath>

namespace shardmanager::solver {

std::vector<HingeBoard::Column> HingeBoard::Columns(const State& state,
                                                    const LevelWeights& weights) {
  std::vector<Column> hard;
  std::vector<Column> goals;
  const auto weight = [&](int level) {
    return level == kConstraintLevel ? 1 : weights[static_cast<size_t>(level)];
  };
  for (const LoadRule& rule : state.model().load_rules()) {
    if (rule.scope != scope_) continue;
    (rule.level == kConstraintLevel ? hard : goals)
        .push_back({.rule = &rule,
                    .sticky = state.model().dimensions()[rule.dimension].sticky,
                    .weight = weight(rule.level)});
  }
  for (const auto& rule : state.custom()) {
    const Hinge* hinge = rule->hinge();
    if (hinge == nullptr || hinge->scope != scope_) continue;
    (rule->level() == kConstraintLevel ? hard : goals)
        .push_back({.hinge = hinge, .weight = weight(rule->level()) * hinge->weight});
  }
  hard_ = hard.size();
  hard.insert(hard.end(), goals.begin(), goals.end());
  return hard;
}

HingeBoard::HingeBoard(const State& state, ScopeId scope, const LevelWeights& weights, double scale)
    : scope_(scope) {
  const std::vector<Column> columns = Columns(state, weights);
  columns_ = columns.size();
  if (empty()) return;
  none_.assign(columns_, 0);
  const Model& model = state.model();
  FillRows(state.problem(), model, columns);
  FillDomains(model, columns);
  over_.assign(hard_, 0);
  AddStarts(model, columns);
  for (uint32_t i = 0; i < state.problem().objects; ++i) {
    const ObjectId o(i);
    const ContainerId at = state.where(o);
    if (at.valid()) Apply(model.DomainOf(scope, at), Row(o, !state.Moved(o)), NoRow());
  }
  allowed_ = over_;
  SetPrices(state.problem(), scale);
}

// To begin with, a unit above a limit costs as much as the goals for a unit of load.
void HingeBoard::SetPrices(const Problem& problem, double scale) {
  for (size_t k = 0; k < hard_; ++k) {
    double load = 1;
    for (uint32_t i = 0; i < problem.objects; ++i) load += std::abs(Row(ObjectId(i), false)[k]);
    usual_.push_back(scale / load);
  }
  price_ = usual_;
}

void HingeBoard::AdjustPrices(double rise, double fall) {
  // Far from the usual price nothing changes any more.
  constexpr double kMost = 1e4;
  for (size_t k = 0; k < hard_; ++k) {
    if (over_[k] > allowed_[k]) {
      price_[k] = std::min(price_[k] * rise, usual_[k] * kMost);
    } else {
      price_[k] = std::max(price_[k] / fall, usual_[k] / kMost);
    }
  }
}

void HingeBoard::FillRows(const Problem& problem, const Model& model,
                          const std::vector<Column>& columns) {
  rows_.reserve(size_t{problem.objects} * 2 * columns_);
  for (uint32_t i = 0; i < problem.objects; ++i) {
    const auto load = problem.LoadOf(ObjectId(i));
    for (const bool home : {false, true}) {
      for (const Column& c : columns) {
        if (c.hinge != nullptr) {
          rows_.push_back(c.hinge->load[ObjectId(i)]);
        } else {
          const Load l = load[model.dimensions()[c.rule->dimension].metric.index()];
          rows_.push_back(c.sticky && home ? 0 : l);
        }
      }
    }
  }
}

void HingeBoard::FillDomains(const Model& model, const std::vector<Column>& columns) {
  const Problem& p = model.problem();
  const uint32_t domains = model.DomainCount(scope_);
  cost_.assign(domains, 0);
  for (uint32_t d = 0; d < domains; ++d) {
    for (const Column& c : columns) {
      const DomainId id(d);
      excess_.push_back(c.rule != nullptr ? -static_cast<double>(c.rule->limit[id])
                                          : c.hinge->base[id]);
      scale_.push_back(c.weight * (c.rule != nullptr ? c.rule->scale[id] : 1));
    }
  }
  if (p.base_usage.empty()) return;
  // Hinges have it in their bases.
  for (uint32_t i = 0; i < p.containers; ++i) {
    double* row = &excess_[model.DomainOf(scope_, ContainerId(i)).index() * columns_];
    for (size_t k = 0; k < columns_; ++k) {
      if (columns[k].rule == nullptr) continue;
      const MetricId m = model.dimensions()[columns[k].rule->dimension].metric;
      row[k] += static_cast<double>(p.base_usage[i * p.metrics.size() + m.index()]);
    }
  }
}

// In a sticky dimension an object counts at its start for ever. Sets cost_ as well.
void HingeBoard::AddStarts(const Model& model, const std::vector<Column>& columns) {
  const Problem& p = model.problem();
  for (const Column& c : columns) sticky_ |= c.sticky;
  for (uint32_t i = 0; i < p.objects && sticky_; ++i) {
    const ContainerId start = p.start[ObjectId(i)];
    if (!start.valid()) continue;
    const double* away = Row(ObjectId(i), false);
    double* row = &excess_[model.DomainOf(scope_, start).index() * columns_];
    for (size_t k = 0; k < columns_; ++k) row[k] += columns[k].sticky ? away[k] : 0;
  }
  for (uint32_t d = 0; d < cost_.size(); ++d) {
    for (size_t k = 0; k < hard_; ++k) over_[k] += std::max(excess_[d * columns_ + k], 0.0);
    Apply(DomainId(d), NoRow(), NoRow());
  }
}

void HingeBoard::Apply(DomainId d, const double* plus, const double* minus) {
  double* excess = &excess_[size_t{d.index()} * columns_];
  const double* scale = &scale_[size_t{d.index()} * columns_];
  for (size_t k = 0; k < hard_; ++k) {
    const double after = excess[k] + (plus[k] - minus[k]);
    over_[k] += std::max(after, 0.0) - std::max(excess[k], 0.0);
    excess[k] = after;
  }
  double cost = 0;
  for (size_t k = hard_; k < columns_; ++k) {
    excess[k] += plus[k] - minus[k];
    cost += std::max(excess[k], 0.0) * scale[k];
  }
  cost_[d] = cost;
}

}  // namespace shardmanager::solver
