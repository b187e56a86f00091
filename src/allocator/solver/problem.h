// What is to be placed where: objects with loads, containers with capacities, and
// the scopes that containers form. Wishes about it are specs (model.h).
//
// All loads and capacities are whole numbers in a unit of the caller's choice, so
// that sums are exact and the same moves give the same answer everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "allocator/solver/ids.h"

namespace shardmanager::solver {

using Load = int32_t;    // of one object; 0 to 2^31-1
using Amount = int64_t;  // a sum of loads, or a capacity

// No capacity was given: there is no limit.
inline constexpr Amount kUnlimited = INT64_MAX / 4;

// A division of all containers into domains. Scopes need not be nested.
struct Scope {
  std::string name;                        // REQUIRED. Unique. Example: "rack".
  Table<ContainerId, DomainId> domain_of;  // REQUIRED. One for each container.
  Table<DomainId, std::string> names;      // OPTIONAL. For explanations.
  uint32_t domains = 0;                    // REQUIRED. All of domain_of are below it.
};

// The scope in which each container is a domain of its own; always there.
inline constexpr ScopeId kContainerScope{0};

struct Problem {
  // REQUIRED. Names of the dimensions of load. Example: {"cpu", "memory"}.
  Table<MetricId, std::string> metrics;

  // REQUIRED. Row-major: capacity[container * metrics + metric].
  std::vector<Amount> capacity;
  // OPTIONAL. Row-major as `capacity`: load of what the problem leaves out.
  std::vector<Amount> base_usage;
  uint32_t containers = 0;
  Table<ContainerId, std::string> container_names;  // OPTIONAL. For explanations.
  // OPTIONAL. Nothing may be put there; what starts there may stay.
  Table<ContainerId, bool> closed;
  // Other than kContainerScope, whose id is 0: the first of these has id 1.
  std::vector<Scope> scopes;

  // REQUIRED. Row-major: load[object * metrics + metric].
  std::vector<Load> load;
  uint32_t objects = 0;
  // REQUIRED. Group g holds the objects group_begin[g] to group_begin[g+1]-1; the
  // last entry is `objects`.
  std::vector<uint32_t> group_begin;
  // REQUIRED. Where each object stands. Invalid id: nowhere yet.
  Table<ObjectId, ContainerId> start;
  // OPTIONAL. These stay where they start.
  Table<ObjectId, bool> pinned;

  bool Open(ContainerId c) const { return closed.empty() || !closed[c]; }
  uint32_t groups() const { return static_cast<uint32_t>(group_begin.size()) - 1; }
  uint32_t scope_count() const { return static_cast<uint32_t>(scopes.size()) + 1; }
  std::span<const Load> LoadOf(ObjectId o) const {
    return {load.data() + size_t{o.index()} * metrics.size(), metrics.size()};
  }
  Amount CapacityOf(ContainerId c, MetricId m) const {
    return capacity[size_t{c.index()} * metrics.size() + m.index()];
  }

  // INVALID_ARGUMENT names the first field that does not fit, what was found and
  // what is allowed.
  absl::Status Validate() const;
};

// INVALID_ARGUMENT unless there is one, telling which there are.
absl::StatusOr<MetricId> FindMetric(const Problem& problem, std::string_view name);
// "server" and "container" are kContainerScope.
absl::StatusOr<ScopeId> FindScope(const Problem& problem, std::string_view name);

std::string ContainerName(const Problem& problem, ContainerId container);
std::string DomainName(const Problem& problem, ScopeId scope, DomainId domain);

}  // namespace shardmanager::solver
