// Limits of a metric in all domains of a scope, for specs that lower to load rules.
#pragma once

#include <functional>
#include <string>

#include "allocator/solver/model.h"

namespace shardmanager::solver {

// The capacity of each domain: the sum over its containers; kUnlimited if one has no
// limit. Closed containers count for nothing.
Table<DomainId, Amount> DomainCapacities(const Model& model, ScopeId scope, MetricId metric);

// The domain of each container.
Table<ContainerId, DomainId> DomainOfEach(const Model& model, ScopeId scope);

// A rule with the limit that `limit_of` gives for each domain and its capacity; what
// is above counts as a fraction of the capacity.
LoadRule FractionalRule(const Model& model, ScopeId scope, MetricId metric, Rank rank,
                        std::string name,
                        const std::function<Amount(DomainId, Amount capacity)>& limit_of);

absl::Status CheckFraction(const std::string& field, double found);

}  // namespace shardmanager::solver
