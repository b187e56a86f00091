#include "allocator/solver/specs/balance.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "allocator/solver/specs/domain_limits.h"

namespace shardmanager::solver {
namespace {

// What is balanced together: everything, or one domain of `within`.
struct Pool {
  Amount load = 0;
  Amount capacity = 0;
  uint32_t open_domains = 0;
};

// The load that starts in each pool, closed containers' included: it is to be shared
// by the open ones.
std::vector<Pool> Pools(const Model& model, MetricId metric, ScopeId within, bool all) {
  const Problem& p = model.problem();
  const auto pool_of = [&](ContainerId c) { return all ? 0u : model.DomainOf(within, c).index(); };
  std::vector<Pool> pools(all ? 1 : model.DomainCount(within));
  const size_t metrics = p.metrics.size();
  for (uint32_t i = 0; i < p.containers; ++i) {
    Pool& pool = pools[pool_of(ContainerId(i))];
    if (!p.base_usage.empty()) pool.load += p.base_usage[i * metrics + metric.index()];
    if (!p.Open(ContainerId(i))) continue;
    pool.capacity = std::min(kUnlimited, pool.capacity + p.CapacityOf(ContainerId(i), metric));
    ++pool.open_domains;
  }
  for (uint32_t i = 0; i < p.objects; ++i) {
    const ContainerId at = p.start[ObjectId(i)];
    if (!at.valid() && !all) continue;
    pools[all ? 0 : pool_of(at)].load += p.load[i * metrics + metric.index()];
  }
  return pools;
}

// By capacity.
Amount ShareOf(const Pool& pool, Amount capacity, double tolerance) {
  if (pool.capacity == 0) return 0;
  const double share = static_cast<double>(pool.load) / static_cast<double>(pool.capacity) *
                       static_cast<double>(capacity);
  return static_cast<Amount>(share * (1 + tolerance));
}

// The same for all: the whole units that each must carry, and with `up` the one more
// that some have to.
Amount EvenShareOf(const Pool& pool, double tolerance, bool up) {
  if (pool.open_domains == 0) return 0;
  const double share = static_cast<double>(pool.load) / pool.open_domains * (1 + tolerance);
  return static_cast<Amount>(up ? std::ceil(share) : std::floor(share));
}

}  // namespace

absl::Status BalanceSpec::AddTo(Model& model, Rank rank) const {
  const Problem& problem = model.problem();
  const auto m = FindMetric(problem, metric);
  if (!m.ok()) return m.status();
  const auto s = FindScope(problem, scope);
  if (!s.ok()) return s.status();
  const auto w =
      within.empty() ? absl::StatusOr<ScopeId>(kContainerScope) : FindScope(problem, within);
  if (!w.ok()) return w.status();
  if (!(tolerance >= 0) || tolerance > 1e6) {
    return absl::InvalidArgumentError(
        absl::StrCat("balance.tolerance: found ", tolerance, "; allowed: 0 to 1000000"));
  }
  if (!within.empty() && *s != kContainerScope) {
    return absl::InvalidArgumentError(
        absl::StrCat("balance.within: found scope \"", scope, "\"; allowed: server"));
  }
  std::vector<Pool> pools = Pools(model, *m, *w, within.empty());
  const auto capacities = DomainCapacities(model, *s, *m);
  const bool even_shares = even || std::any_of(capacities.begin(), capacities.end(),
                                               [](Amount c) { return c >= kUnlimited; });
  if (even_shares && *s != kContainerScope) pools[0].open_domains = model.DomainCount(*s);
  const std::string name =
      absl::StrCat("balance(", scope, ", ", metric,
                   within.empty() ? "" : absl::StrCat(", in its ", within), ")");
  const auto add = [&](const std::function<Amount(const Pool&, Amount)>& share) {
    LoadRule rule =
        FractionalRule(model, *s, *m, rank, name, [&](DomainId d, Amount capacity) -> Amount {
          if (*s == kContainerScope && !problem.Open(ContainerId(d.index()))) return 0;
          const Pool& pool =
              pools[within.empty() ? 0 : model.DomainOf(*w, ContainerId(d.index())).index()];
          return share(pool, capacity);
        });
    if (even_shares) {
      for (double& scale : rule.scale) scale = rank.weight;
    }
    model.Add(std::move(rule));
  };
  // In a pool of its own a domain may carry what it might carry over all: loads move
  // between pools, and what has no place yet is in none.
  const Pool all = within.empty() ? Pool() : Pools(model, *m, *w, /*all=*/true)[0];
  const auto larger = [&](const Pool& pool, const auto& share) {
    return within.empty() ? share(pool) : std::max(share(pool), share(all));
  };
  if (!even_shares) {
    add([&](const Pool& pool, Amount capacity) {
      return larger(pool, [&](const Pool& p) { return ShareOf(p, capacity, tolerance); });
    });
    return absl::OkStatus();
  }
  // Two rules: who carries one more than another pays once, two more twice, and so on.
  for (const bool up : {true, false}) {
    add([&](const Pool& pool, Amount) {
      return larger(pool, [&](const Pool& p) { return EvenShareOf(p, tolerance, up); });
    });
  }
  return absl::OkStatus();
}

}  // namespace shardmanager::solver
