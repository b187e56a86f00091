#include "allocator/solver/model.h"

#include "absl/strings/str_cat.h"

namespace shardmanager::solver {

Model::Model(const Problem& problem) : problem_(problem), total_load_(problem.metrics.size(), 0) {
  const size_t metrics = problem.metrics.size();
  for (size_t m = 0; m < metrics; ++m) dimensions_.push_back({MetricId(m), false});
  const auto sum = [&](const auto& rows) {
    for (size_t i = 0; i < rows.size(); i += metrics) {
      for (size_t m = 0; m < metrics; ++m) total_load_[MetricId(m)] += rows[i + m];
    }
  };
  sum(problem.load);
  sum(problem.base_usage);
}

uint32_t Model::DimensionFor(MetricId metric, bool sticky) {
  for (uint32_t d = 0; d < dimensions_.size(); ++d) {
    if (dimensions_[d].metric == metric && dimensions_[d].sticky == sticky) return d;
  }
  dimensions_.push_back({metric, sticky});
  return static_cast<uint32_t>(dimensions_.size() - 1);
}

uint32_t Model::DomainCount(ScopeId scope) const {
  return scope == kContainerScope ? problem_.containers
                                  : problem_.scopes[scope.index() - 1].domains;
}

absl::Status Model::WrongRank(GoalRank rank) {
  return absl::InvalidArgumentError(
      absl::StrCat("goal: found priority ", rank.priority, ", weight ", rank.weight,
                   "; allowed: priority 1 to ", kGoals, ", weight above 0"));
}

}  // namespace shardmanager::solver
