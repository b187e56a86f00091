#include "allocator/solver/specs/capacity.h"

#include "absl/strings/str_cat.h"
#include "allocator/solver/specs/domain_limits.h"

namespace shardmanager::solver {
namespace {

// kUnlimited stays so.
Amount Part(Amount capacity, double part) {
  if (capacity >= kUnlimited) return kUnlimited;
  return static_cast<Amount>(static_cast<double>(capacity) * part);
}

absl::Status AddLimit(Model& model, Rank rank, const std::string& name, const std::string& scope,
                      const std::string& metric, double part, bool transient) {
  const auto m = FindMetric(model.problem(), metric);
  if (!m.ok()) return m.status();
  const auto s = FindScope(model.problem(), scope);
  if (!s.ok()) return s.status();
  LoadRule rule =
      FractionalRule(model, *s, *m, rank, absl::StrCat(name, "(", scope, ", ", metric, ")"),
                     [part](DomainId, Amount c) { return Part(c, part); });
  rule.dimension = model.DimensionFor(*m, transient);
  model.Add(std::move(rule));
  return absl::OkStatus();
}

}  // namespace

absl::Status CapacitySpec::AddTo(Model& model, Rank rank) const {
  if (absl::Status s = CheckFraction("capacity.limit", limit); !s.ok()) return s;
  return AddLimit(model, rank, transient ? "transient capacity" : "capacity", scope, metric, limit,
                  transient);
}

absl::Status UtilizationSpec::AddTo(Model& model, Rank rank) const {
  if (absl::Status s = CheckFraction("utilization.threshold", threshold); !s.ok()) return s;
  return AddLimit(model, rank, "utilization", scope, metric, threshold, false);
}

}  // namespace shardmanager::solver
