#include "allocator/solver/load_board.h"

#include <algorithm>

namespace shardmanager::solver {
namespace {

double Cost(Amount usage, Amount limit, double scale) {
  return usage > limit ? static_cast<double>(usage - limit) * scale : 0;
}

}  // namespace

LoadBoard::LoadBoard(const Model& model, ScopeId scope)
    : scope_(scope), dimensions_(model.dimensions().size()) {
  const Problem& problem = model.problem();
  const uint32_t domains = model.DomainCount(scope);
  usage_.assign(domains * dimensions_, 0);
  tightest_.assign(domains * dimensions_, kUnlimited);
  for (const LoadRule& rule : model.load_rules()) {
    if (rule.scope == scope) rules_.push_back({&rule, rule.level, rule.dimension});
  }
  cells_.resize(domains * rules_.size());
  for (uint32_t d = 0; d < domains; ++d) {
    for (size_t k = 0; k < rules_.size(); ++k) {
      const LoadRule& rule = *rules_[k].rule;
      const Amount limit = rule.limit[DomainId(d)];
      cells_[d * rules_.size() + k] = {limit, rule.scale[DomainId(d)]};
      Amount& tightest = tightest_[d * dimensions_ + rule.dimension];
      tightest = std::min(tightest, limit);
    }
  }
  if (problem.base_usage.empty()) return;
  const size_t metrics = problem.metrics.size();
  for (uint32_t c = 0; c < problem.containers; ++c) {
    Amount* row = &usage_[Row(model.DomainOf(scope, ContainerId(c)))];
    for (size_t i = 0; i < dimensions_; ++i) {
      row[i] += problem.base_usage[c * metrics + model.dimensions()[i].metric.index()];
    }
  }
}

double LoadBoard::CostOf(size_t rule, DomainId d) const {
  const Cell& cell = Cells(d)[rule];
  return Cost(usage(d, rules_[rule].dimension), cell.limit, cell.scale);
}

double LoadBoard::ArrivalOf(size_t rule, DomainId d, const Load* load) const {
  const Cell& cell = Cells(d)[rule];
  const Amount before = usage(d, rules_[rule].dimension);
  const Amount after = before + load[rules_[rule].dimension];
  return Cost(after, cell.limit, cell.scale) - Cost(before, cell.limit, cell.scale);
}

void LoadBoard::AddArrival(DomainId d, const Load* load, Score& score) const {
  if (Fits(d, load)) return;
  for (size_t k = 0; k < rules_.size(); ++k) score[rules_[k].level] += ArrivalOf(k, d, load);
}

void LoadBoard::AddDeparture(DomainId d, const Load* load, Score& change) const {
  const Cell* cells = Cells(d);
  const Amount* usage = &usage_[Row(d)];
  for (size_t k = 0; k < rules_.size(); ++k) {
    const Amount before = usage[rules_[k].dimension];
    if (before <= cells[k].limit) continue;
    const Amount after = before - load[rules_[k].dimension];
    change[rules_[k].level] +=
        Cost(after, cells[k].limit, cells[k].scale) - Cost(before, cells[k].limit, cells[k].scale);
  }
}

void LoadBoard::AddCost(DomainId d, Score& score) const {
  if (!Over(d)) return;
  for (size_t k = 0; k < rules_.size(); ++k) score[rules_[k].level] += CostOf(k, d);
}

double LoadBoard::Fill(DomainId d) const {
  double fill = 0;
  for (size_t i = 0; i < dimensions_; ++i) {
    const Amount tightest = tightest_[Row(d) + i];
    const Amount usage = usage_[Row(d) + i];
    if (tightest == kUnlimited) continue;
    fill = std::max(
        fill, static_cast<double>(usage) / static_cast<double>(std::max<Amount>(tightest, 1)));
  }
  return fill;
}

bool LoadBoard::SameRow(DomainId a, DomainId b) const {
  return std::equal(&usage_[Row(a)], &usage_[Row(a)] + dimensions_, &usage_[Row(b)]) &&
         std::equal(&tightest_[Row(a)], &tightest_[Row(a)] + dimensions_, &tightest_[Row(b)]);
}

}  // namespace shardmanager::solver
