#include "allocator/solver/specs/headroom_ratio.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/solver/specs/domain_limits.h"
#include "allocator/solver/specs/hinge_rule.h"

namespace shardmanager::solver {
namespace {

// Beyond this a double does not hold every whole number.
constexpr double kMostExact = 9007199254740992.0;  // 2^53

// Usage shortens both kinds of room, so what is missing is linear in the load: a hinge.
absl::StatusOr<Hinge> MakeHinge(const Model& model, ScopeId scope, MetricId metric, MetricId with,
                                int64_t ratio) {
  const Problem& p = model.problem();
  Hinge hinge{.scope = scope, .base = {}, .load = {}};
  const auto room = DomainCapacities(model, scope, metric);
  const auto other = DomainCapacities(model, scope, with);
  const auto r = static_cast<double>(ratio);
  double largest = 0;
  for (size_t i = 0; i < room.size(); ++i) {
    const DomainId d(i);
    hinge.base.push_back(r * static_cast<double>(room[d]) - static_cast<double>(other[d]));
    largest = std::max({largest, r * static_cast<double>(room[d]), static_cast<double>(other[d])});
  }
  largest +=
      r * static_cast<double>(model.TotalLoad(metric)) + static_cast<double>(model.TotalLoad(with));
  if (largest > kMostExact) {
    return absl::InvalidArgumentError(
        absl::StrCat("headroom_ratio: found capacities and loads of up to ", largest,
                     " (ratio applied); allowed: up to ", kMostExact));
  }
  for (uint32_t i = 0; i < p.objects; ++i) {
    const auto load = p.LoadOf(ObjectId(i));
    hinge.load.push_back(static_cast<double>(load[with.index()]) -
                         r * static_cast<double>(load[metric.index()]));
  }
  return hinge;
}

// What the problem leaves out uses room as well.
void AddBase(const Model& model, MetricId metric, MetricId with, int64_t ratio, Hinge& hinge) {
  const Problem& p = model.problem();
  if (p.base_usage.empty()) return;
  for (uint32_t i = 0; i < p.containers; ++i) {
    const Amount* usage = &p.base_usage[size_t{i} * p.metrics.size()];
    hinge.base[model.DomainOf(hinge.scope, ContainerId(i))] +=
        static_cast<double>(usage[with.index()] - ratio * usage[metric.index()]);
  }
}

}  // namespace

absl::Status HeadroomRatioSpec::AddTo(Model& model, Rank rank) const {
  const auto m = FindMetric(model.problem(), metric);
  if (!m.ok()) return m.status();
  const auto w = FindMetric(model.problem(), with);
  if (!w.ok()) return w.status();
  const auto s = FindScope(model.problem(), scope);
  if (!s.ok()) return s.status();
  if (ratio < 0 || ratio > 1'000'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("headroom_ratio.ratio: found ", ratio, "; allowed: 0 to 1000000"));
  }
  auto hinge = MakeHinge(model, *s, *m, *w, ratio);
  if (!hinge.ok()) return hinge.status();
  hinge->weight = rank.weight;
  AddBase(model, *m, *w, ratio, *hinge);
  const std::string name = absl::StrCat("headroom_ratio(", scope, ", ", metric, ", ", with, ")");
  model.Add([hinge = *std::move(hinge), name, level = rank.level](const Problem& problem) {
    return std::make_unique<HingeRule>(name, level, problem, hinge);
  });
  return absl::OkStatus();
}

}  // namespace shardmanager::solver
