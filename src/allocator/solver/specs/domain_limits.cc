#include "allocator/solver/specs/domain_limits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace shardmanager::solver {

Table<DomainId, Amount> DomainCapacities(const Model& model, ScopeId scope, MetricId metric) {
  const Problem& problem = model.problem();
  Table<DomainId, Amount> capacity(model.DomainCount(scope), 0);
  for (uint32_t i = 0; i < problem.containers; ++i) {
    const ContainerId c(i);
    if (!problem.Open(c) && scope != kContainerScope) continue;
    Amount& sum = capacity[model.DomainOf(scope, c)];
    sum = std::min(kUnlimited, sum + problem.CapacityOf(c, metric));
  }
  return capacity;
}

Table<ContainerId, DomainId> DomainOfEach(const Model& model, ScopeId scope) {
  Table<ContainerId, DomainId> domains;
  for (uint32_t c = 0; c < model.problem().containers; ++c) {
    domains.push_back(model.DomainOf(scope, ContainerId(c)));
  }
  return domains;
}

LoadRule FractionalRule(const Model& model, ScopeId scope, MetricId metric, Rank rank,
                        std::string name,
                        const std::function<Amount(DomainId, Amount capacity)>& limit_of) {
  LoadRule rule;
  rule.name = std::move(name);
  rule.level = rank.level;
  rule.scope = scope;
  rule.dimension = metric.index();
  for (Amount capacity : DomainCapacities(model, scope, metric)) {
    const DomainId d(rule.limit.size());
    rule.limit.push_back(std::min(kUnlimited, limit_of(d, capacity)));
    rule.scale.push_back(rank.weight / static_cast<double>(std::max<Amount>(capacity, 1)));
  }
  return rule;
}

absl::Status CheckFraction(const std::string& field, double found) {
  if (found >= 0 && found <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": found ", found, "; allowed: 0 to 1"));
}

}  // namespace shardmanager::solver
