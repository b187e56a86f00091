#include "allocator/solver/specs/overage.h"

#include "absl/strings/str_cat.h"

namespace shardmanager::solver {

absl::Status OverageSpec::AddTo(Model& model, Rank rank) const {
  const auto m = FindMetric(model.problem(), metric);
  if (!m.ok()) return m.status();
  const auto s = FindScope(model.problem(), scope);
  if (!s.ok()) return s.status();
  if (limit.size() != model.DomainCount(*s)) {
    return absl::InvalidArgumentError(absl::StrCat("overage.limit: found ", limit.size(),
                                                   " entries; allowed: ", model.DomainCount(*s)));
  }
  for (Amount l : limit) {
    if (l >= 0 && l <= kUnlimited) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("overage.limit: found ", l, "; allowed: 0 to ", kUnlimited));
  }
  model.Add(LoadRule{.name = absl::StrCat("overage(", scope, ", ", metric, ")"),
                     .level = rank.level,
                     .scope = *s,
                     .dimension = m->index(),
                     .limit = limit,
                     .scale = Table<DomainId, double>(limit.size(), rank.weight)});
  return absl::OkStatus();
}

}  // namespace shardmanager::solver
