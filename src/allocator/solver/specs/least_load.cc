#include "allocator/solver/specs/least_load.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/solver/specs/domain_limits.h"
#include "allocator/solver/specs/hinge_rule.h"

namespace shardmanager::solver {
namespace {

// For each domain that lacks load, so many objects of others may be tried; of all, at least so
// many.
constexpr size_t kTriedOfDomain = 8;
constexpr size_t kLeastTried = 256;

constexpr double kRounding = 1e-6;  // of a product, in units of load

// It costs something where nothing is, so whoever is to pay for it stands elsewhere.
class LeastLoadRule final : public HingeRule {
 public:
  LeastLoadRule(std::string name, int level, const Problem& problem, const Hinge& hinge)
      : HingeRule(std::move(name), level, problem, hinge), where_(problem.objects) {}

  void Put(ObjectId o, ContainerId to) override {
    where_[o] = to;
    HingeRule::Put(o, to);
  }
  void Lift(ObjectId o, ContainerId from) override {
    where_[o] = ContainerId();
    HingeRule::Lift(o, from);
  }

  // The largest objects that their domains can do without.
  void AddPayers(std::vector<ObjectId>& payers) const override {
    size_t lacking = 0;
    for (uint32_t d = 0; d < hinge()->base.size(); ++d) lacking += Above(DomainId(d)) > kTolerance;
    if (lacking == 0) return;
    std::vector<std::pair<double, ObjectId>> spare;
    for (uint32_t i = 0; i < where_.size(); ++i) {
      const ObjectId o(i);
      const double load = hinge()->load[o];  // negative
      if (!where_[o].valid() || load >= 0) continue;
      if (Above(DomainOf(where_[o])) - load <= 0) spare.emplace_back(load, o);
    }
    const size_t tried = std::min(spare.size(), std::max(kLeastTried, lacking * kTriedOfDomain));
    std::partial_sort(spare.begin(), spare.begin() + static_cast<ptrdiff_t>(tried), spare.end());
    for (size_t i = 0; i < tried; ++i) payers.push_back(spare[i].second);
  }
  Payment WhoPays() const override {
    Payment payment = HingeRule::WhoPays();
    double lacking = 0;
    for (uint32_t d = 0; d < hinge()->base.size(); ++d) lacking += Above(DomainId(d));
    payment.help = lacking > 0
                       ? "there is not so much load in all: a lower `least`, or fewer servers"
                       : "there is load enough in all: loosen a higher rule, or search longer";
    return payment;
  }

 private:
  Table<ObjectId, ContainerId> where_;
};

// What each domain should carry at least, in whole units; closed containers, which should be empty,
// nothing.
Table<DomainId, double> Wanted(const Model& model, ScopeId scope, MetricId metric, double least) {
  const Problem& p = model.problem();
  Table<DomainId, double> wanted(model.DomainCount(scope), 0);
  for (uint32_t i = 0; i < p.containers; ++i) {
    const ContainerId c(i);
    if (!p.Open(c)) continue;
    wanted[model.DomainOf(scope, c)] += least * static_cast<double>(p.CapacityOf(c, metric));
  }
  for (double& w : wanted) w = std::ceil(w - kRounding);
  return wanted;
}

}  // namespace

absl::Status LeastLoadSpec::AddTo(Model& model, Rank rank) const {
  const Problem& p = model.problem();
  const auto m = FindMetric(p, metric);
  if (!m.ok()) return m.status();
  const auto s = FindScope(p, scope);
  if (!s.ok()) return s.status();
  if (absl::Status c = CheckFraction("least_load.least", least); !c.ok()) return c;
  double capacity = 0;
  for (uint32_t c = 0; c < p.containers; ++c) {
    if (p.CapacityOf(ContainerId(c), *m) >= kUnlimited) {
      return absl::InvalidArgumentError(
          absl::StrCat("least_load: found ", ContainerName(p, ContainerId(c)),
                       " without a limit of ", metric, "; allowed: a capacity of every server"));
    }
    capacity += static_cast<double>(p.CapacityOf(ContainerId(c), *m));
  }
  Hinge hinge{.scope = *s, .base = Wanted(model, *s, *m, least), .load = {}};
  hinge.weight = rank.weight * model.DomainCount(*s) / std::max(capacity, 1.0);
  for (uint32_t c = 0; c < p.containers && !p.base_usage.empty(); ++c) {
    hinge.base[model.DomainOf(*s, ContainerId(c))] -=
        static_cast<double>(p.base_usage[size_t{c} * p.metrics.size() + m->index()]);
  }
  for (uint32_t o = 0; o < p.objects; ++o) {
    hinge.load.push_back(-static_cast<double>(p.LoadOf(ObjectId(o))[m->index()]));
  }
  const std::string name = absl::StrCat("least_load(", scope, ", ", metric, ")");
  model.Add([hinge = std::move(hinge), name, level = rank.level](const Problem& problem) {
    return std::make_unique<LeastLoadRule>(name, level, problem, hinge);
  });
  return absl::OkStatus();
}

}  // namespace shardmanager::solver
