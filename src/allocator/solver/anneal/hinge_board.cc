#include "allocator/solver/anneal/hinge_board.h"

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
  lanes_ = (columns_ + kLaneSize - 1) / kLaneSize;
  none_.assign(lanes_, Lane{});
  for (const Column& c : columns) sticky_ |= c.sticky;
  const Model& model = state.model();
  FillRows(state.problem(), model, columns);
  FillDomains(model, columns);
  AddStarts(model, columns);
  for (uint32_t i = 0; i < state.problem().objects; ++i) {
    const ObjectId o(i);
    const ContainerId at = state.where(o);
    if (at.valid()) Put(model.DomainOf(scope, at), Row(o, !state.Moved(o)));
  }
  SetPrices(state.problem(), scale);
}

// To begin with, a unit above a limit costs as much as the goals for a unit of load.
void HingeBoard::SetPrices(const Problem& problem, double scale) {
  for (size_t k = 0; k < hard_; ++k) {
    double load = 1;
    for (uint32_t i = 0; i < problem.objects; ++i) load += std::abs(At(Row(ObjectId(i), false), k));
    double broken = 0;
    for (uint32_t d = 0; d < known_.size(); ++d)
      broken += std::max(0.0, At(Excess(DomainId(d)), k));
    constraints_.push_back(Price(scale / load, load, broken));
  }
  price_.assign(lanes_, Lane{1, 1});
  ShowPrices();
}

void HingeBoard::ShowPrices() {
  ++prices_;
  for (size_t k = 0; k < hard_; ++k) At(price_.data(), k) = constraints_[k].now();
}

void HingeBoard::AdjustPrices(const Price::Policy& policy) {
  for (Price& price : constraints_) price.Adjust(policy);
  ShowPrices();
}

void HingeBoard::FillRows(const Problem& problem, const Model& model,
                          const std::vector<Column>& columns) {
  const size_t variants = sticky_ ? 2 : 1;
  rows_.assign(size_t{problem.objects} * variants * lanes_, Lane{});
  for (uint32_t i = 0; i < problem.objects; ++i) {
    const auto load = problem.LoadOf(ObjectId(i));
    for (size_t home = 0; home < variants; ++home) {
      Lane* row = &rows_[(i * variants + home) * lanes_];
      for (size_t k = 0; k < columns_; ++k) {
        const Column& c = columns[k];
        if (c.hinge != nullptr) {
          At(row, k) = c.hinge->load[ObjectId(i)];
        } else if (!c.sticky || home == 0) {
          At(row, k) = load[model.dimensions()[c.rule->dimension].metric.index()];
        }
      }
    }
  }
}

void HingeBoard::FillDomains(const Model& model, const std::vector<Column>& columns) {
  const uint32_t domains = model.DomainCount(scope_);
  domains_.assign(size_t{domains} * 2 * lanes_, Lane{});
  known_.resize(domains);
  for (uint32_t d = 0; d < domains; ++d) {
    const DomainId id(d);
    Lane* excess = Excess(id);
    for (size_t k = 0; k < columns_; ++k) {
      const Column& c = columns[k];
      At(excess, k) =
          c.rule != nullptr ? -static_cast<double>(c.rule->limit[id]) : c.hinge->base[id];
      // Constraints have prices instead.
      const double scale = c.weight * (c.rule != nullptr ? c.rule->scale[id] : 1);
      At(excess + lanes_, k) = k < hard_ ? 1 : scale;
    }
  }
  if (!model.problem().base_usage.empty()) AddBase(model, columns);
}

// Hinges have it in their bases.
void HingeBoard::AddBase(const Model& model, const std::vector<Column>& columns) {
  const Problem& p = model.problem();
  for (uint32_t i = 0; i < p.containers; ++i) {
    Lane* row = Excess(model.DomainOf(scope_, ContainerId(i)));
    for (size_t k = 0; k < columns_; ++k) {
      if (columns[k].rule == nullptr) continue;
      const MetricId m = model.dimensions()[columns[k].rule->dimension].metric;
      At(row, k) += static_cast<double>(p.base_usage[i * p.metrics.size() + m.index()]);
    }
  }
}

// In a sticky dimension an object counts at its start for ever.
void HingeBoard::AddStarts(const Model& model, const std::vector<Column>& columns) {
  const Problem& p = model.problem();
  for (uint32_t i = 0; i < p.objects && sticky_; ++i) {
    const ContainerId start = p.start[ObjectId(i)];
    if (!start.valid()) continue;
    const Lane* away = Row(ObjectId(i), false);
    Lane* row = Excess(model.DomainOf(scope_, start));
    for (size_t k = 0; k < columns_; ++k) At(row, k) += columns[k].sticky ? At(away, k) : 0;
  }
}

void HingeBoard::Put(DomainId d, const Lane* row) {
  Lane* excess = Excess(d);
  for (size_t i = 0; i < lanes_; ++i) excess[i] += row[i];
}

double HingeBoard::CostNow(DomainId d) const {
  const Lane* excess = &domains_[size_t{d.index()} * 2 * lanes_];
  const Lane* scale = excess + lanes_;
  Lane sum = {};
  for (size_t i = 0; i < lanes_; ++i) {
    sum += price_[i] * scale[i] * (excess[i] > 0 ? excess[i] : Lane{});
  }
  return sum[0] + sum[1];
}

double HingeBoard::Apply(DomainId d, const Lane* plus, const Lane* minus) {
  Lane* excess = Excess(d);
  const Lane* scale = excess + lanes_;
  known_[d.index()].prices = 0;
  double goals = 0;
  for (size_t i = 0; i < lanes_; ++i) {
    const Lane after = excess[i] + (plus[i] - minus[i]);
    const Lane change =
        scale[i] * ((after > 0 ? after : Lane{}) - (excess[i] > 0 ? excess[i] : Lane{}));
    excess[i] = after;
    for (size_t j = 0; j < kLaneSize; ++j) {
      const size_t k = i * kLaneSize + j;
      if (k < hard_) {
        constraints_[k].Add(change[j]);
      } else {
        goals += change[j];
      }
    }
  }
  return goals;
}

}  // namespace shardmanager::solver
