#include "allocator/solver/problem.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace shardmanager::solver {
namespace {

absl::Status Wrong(const std::string& field, const std::string& found, const std::string& allowed) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": found ", found, "; allowed: ", allowed));
}

absl::Status CheckSize(const std::string& field, size_t found, size_t wanted) {
  if (found == wanted) return absl::OkStatus();
  return Wrong(field, absl::StrCat(found, " entries"), absl::StrCat(wanted, " entries"));
}

absl::Status CheckContainers(const Problem& p) {
  const size_t cells = size_t{p.containers} * p.metrics.size();
  if (absl::Status s = CheckSize("capacity", p.capacity.size(), cells); !s.ok()) return s;
  if (!p.base_usage.empty()) {
    if (absl::Status s = CheckSize("base_usage", p.base_usage.size(), cells); !s.ok()) return s;
  }
  for (size_t i = 0; i < cells; ++i) {
    if (p.capacity[i] < 0 || p.capacity[i] > kUnlimited) {
      return Wrong(absl::StrCat("capacity[", i, "]"), absl::StrCat(p.capacity[i]),
                   absl::StrCat("0 to ", kUnlimited));
    }
    if (!p.base_usage.empty() && (p.base_usage[i] < 0 || p.base_usage[i] > kUnlimited / 4)) {
      return Wrong(absl::StrCat("base_usage[", i, "]"), absl::StrCat(p.base_usage[i]),
                   absl::StrCat("0 to ", kUnlimited / 4));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckScopes(const Problem& p) {
  for (const Scope& scope : p.scopes) {
    const std::string field = absl::StrCat("scopes.", scope.name, ".domain_of");
    if (absl::Status s = CheckSize(field, scope.domain_of.size(), p.containers); !s.ok()) return s;
    for (DomainId d : scope.domain_of) {
      if (d.index() < scope.domains) continue;
      return Wrong(field, absl::StrCat(d.index()), absl::StrCat("below ", scope.domains));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckGroups(const Problem& p) {
  if (p.group_begin.empty() || p.group_begin.front() != 0 || p.group_begin.back() != p.objects) {
    return Wrong("group_begin", "a list with other ends",
                 absl::StrCat("a list from 0 to ", p.objects));
  }
  if (!std::is_sorted(p.group_begin.begin(), p.group_begin.end())) {
    return Wrong("group_begin", "a descent", "ascending numbers");
  }
  return absl::OkStatus();
}

absl::Status CheckObjects(const Problem& p) {
  const size_t cells = size_t{p.objects} * p.metrics.size();
  if (absl::Status s = CheckSize("load", p.load.size(), cells); !s.ok()) return s;
  if (absl::Status s = CheckSize("start", p.start.size(), p.objects); !s.ok()) return s;
  const auto negative = std::find_if(p.load.begin(), p.load.end(), [](Load l) { return l < 0; });
  if (negative != p.load.end()) {
    return Wrong(absl::StrCat("load[", negative - p.load.begin(), "]"), absl::StrCat(*negative),
                 "0 to 2147483647");
  }
  for (ContainerId c : p.start) {
    if (!c.valid() || c.index() < p.containers) continue;
    return Wrong("start", absl::StrCat("container ", c.index()),
                 absl::StrCat("below ", p.containers));
  }
  return CheckGroups(p);
}

}  // namespace

absl::Status Problem::Validate() const {
  constexpr uint32_t kMost = 1u << 30;
  if (containers > kMost || objects > kMost) {
    return Wrong("size", absl::StrCat(objects, " objects, ", containers, " containers"),
                 absl::StrCat("at most ", kMost, " each"));
  }
  if (absl::Status s = CheckContainers(*this); !s.ok()) return s;
  if (absl::Status s = CheckScopes(*this); !s.ok()) return s;
  if (!closed.empty()) {
    if (absl::Status s = CheckSize("closed", closed.size(), containers); !s.ok()) return s;
  }
  if (!pinned.empty()) {
    if (absl::Status s = CheckSize("pinned", pinned.size(), objects); !s.ok()) return s;
  }
  return CheckObjects(*this);
}

absl::StatusOr<MetricId> FindMetric(const Problem& problem, std::string_view name) {
  for (size_t m = 0; m < problem.metrics.size(); ++m) {
    if (problem.metrics[MetricId(m)] == name) return MetricId(m);
  }
  return Wrong("metric", absl::StrCat("\"", std::string(name), "\""),
               problem.metrics.empty() ? "none: the problem has no metric"
                                       : absl::StrJoin(problem.metrics, ", "));
}

absl::StatusOr<ScopeId> FindScope(const Problem& problem, std::string_view name) {
  if (name == "server" || name == "container") return kContainerScope;
  std::string known = "server";
  for (size_t s = 0; s < problem.scopes.size(); ++s) {
    if (problem.scopes[s].name == name) return ScopeId(s + 1);
    absl::StrAppend(&known, ", ", problem.scopes[s].name);
  }
  return Wrong("scope", absl::StrCat("\"", std::string(name), "\""), known);
}

std::string ContainerName(const Problem& problem, ContainerId container) {
  if (!container.valid()) return "nowhere";
  if (!problem.container_names.empty()) return problem.container_names[container];
  return absl::StrCat("server ", container.index());
}

std::string DomainName(const Problem& problem, ScopeId scope, DomainId domain) {
  if (scope == kContainerScope) return ContainerName(problem, ContainerId(domain.index()));
  const Scope& s = problem.scopes[scope.index() - 1];
  if (!s.names.empty()) return absl::StrCat(s.name, " ", s.names[domain]);
  return absl::StrCat(s.name, " ", domain.index());
}

}  // namespace shardmanager::solver
