#include "allocator/placer/rules.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/solver/specs/all.h"

namespace shardmanager::placer {
namespace {

using solver::ContainerId;
using solver::DomainId;
using v1::PlacerRule;

constexpr int kMostRules = 1000;

std::string ScopeOr(const std::string& scope) { return scope.empty() ? "server" : scope; }

template <typename T>
T Or(T value, T otherwise) {
  return value == T() ? otherwise : value;
}

// Adds one spec, as a constraint or as a goal.
struct Adder {
  solver::Model& model;
  const v1::PlacementProblem& message;
  bool constraint;
  solver::GoalRank rank;

  template <typename Spec>
  absl::Status Add(const Spec& spec) {
    return constraint ? model.AddConstraint(spec) : model.AddGoal(spec, rank);
  }

  absl::Status operator()(const PlacerRule::CapacityRule& r) {
    return Add(solver::CapacitySpec{.scope = ScopeOr(r.scope()),
                                    .metric = r.metric(),
                                    .limit = Or(r.limit(), 1.0),
                                    .transient = r.transient()});
  }
  absl::Status operator()(const PlacerRule::UtilizationRule& r) {
    return Add(solver::UtilizationSpec{
        .scope = ScopeOr(r.scope()), .metric = r.metric(), .threshold = Or(r.threshold(), 0.9)});
  }
  absl::Status operator()(const PlacerRule::BalanceRule& r) {
    solver::BalanceSpec spec;
    spec.scope = ScopeOr(r.scope());
    spec.metric = r.metric();
    spec.tolerance = Or(r.tolerance(), 0.1);
    return Add(spec);
  }
  absl::Status operator()(const PlacerRule::ExclusionRule& r) {
    return Add(solver::ExclusionSpec{.scope = ScopeOr(r.scope()), .most = Or(r.most(), 1u)});
  }
  absl::Status operator()(const PlacerRule::PlacerSpreadRule& r) {
    return Add(solver::SpreadSpec{.scope = ScopeOr(r.scope()), .least = Or(r.least(), 2u)});
  }
  absl::Status operator()(const PlacerRule::DrainRule&) {
    solver::DrainSpec spec;
    for (int i = 0; i < message.servers_size(); ++i) {
      if (message.servers(i).draining()) {
        spec.containers.push_back(ContainerId(static_cast<size_t>(i)));
      }
    }
    return Add(spec);
  }
  absl::Status operator()(const PlacerRule::RegionPreferenceRule& r) {
    const auto scope = solver::FindScope(model.problem(), "region");
    if (!scope.ok()) return scope.status();
    const solver::Scope& regions = model.problem().scopes[scope->index() - 1];
    solver::AffinitySpec spec{.scope = "region", .domain = {}, .objects = Or(r.replicas(), 1u)};
    bool any = false;
    for (int i = 0; i < message.shards_size(); ++i) {
      DomainId region;
      const std::string& wanted = message.shards(i).preferred_region();
      for (uint32_t d = 0; d < regions.domains && !wanted.empty(); ++d) {
        if (regions.names[DomainId(d)] == wanted) region = DomainId(d);
      }
      if (!wanted.empty() && !region.valid()) {
        return absl::InvalidArgumentError(absl::StrCat("shards[", i, "].preferred_region: found \"",
                                                       wanted,
                                                       "\"; allowed: a region of some server"));
      }
      any |= region.valid();
      spec.domain.push_back(region);
    }
    return any ? Add(spec) : absl::OkStatus();
  }
  absl::Status operator()(const PlacerRule::MoveLimitRule& r) {
    constexpr uint32_t kNone = solver::MoveLimitSpec::kNone;
    return Add(solver::MoveLimitSpec{.total = Or(r.total(), kNone),
                                     .per_container = Or(r.per_server(), kNone),
                                     .per_group = Or(r.per_shard(), kNone)});
  }
  absl::Status operator()(const PlacerRule::HeadroomRatioRule& r) {
    return Add(solver::HeadroomRatioSpec{
        .metric = r.metric(), .with = r.with(), .ratio = Or(r.ratio(), 1u)});
  }

  absl::Status AddRule(const PlacerRule& rule) {
    switch (rule.spec_case()) {
      case PlacerRule::kCapacity:
        return (*this)(rule.capacity());
      case PlacerRule::kUtilization:
        return (*this)(rule.utilization());
      case PlacerRule::kBalance:
        return (*this)(rule.balance());
      case PlacerRule::kExclusion:
        return (*this)(rule.exclusion());
      case PlacerRule::kSpread:
        return (*this)(rule.spread());
      case PlacerRule::kDrain:
        return (*this)(rule.drain());
      case PlacerRule::kRegionPreference:
        return (*this)(rule.region_preference());
      case PlacerRule::kMoveLimit:
        return (*this)(rule.move_limit());
      case PlacerRule::kHeadroomRatio:
        return (*this)(rule.headroom_ratio());
      case PlacerRule::SPEC_NOT_SET:
        break;
    }
    return absl::InvalidArgumentError(
        "found no spec; allowed: capacity, utilization, balance, exclusion, spread, drain, "
        "region_preference, move_limit, headroom_ratio");
  }
};

absl::Status AddDefaultConstraints(const v1::PlacementProblem& message, Adder adder) {
  for (const std::string& metric : message.metrics()) {
    if (absl::Status s = adder.Add(solver::CapacitySpec{.metric = metric}); !s.ok()) return s;
  }
  return adder.Add(solver::ExclusionSpec{});
}

absl::Status AddDefaultGoals(const v1::PlacementProblem& message, Adder adder) {
  adder.rank = {.priority = 1};
  if (absl::Status s = adder(PlacerRule::DrainRule()); !s.ok()) return s;
  adder.rank = {.priority = 2};
  if (absl::Status s = adder(PlacerRule::RegionPreferenceRule()); !s.ok()) return s;
  adder.rank = {.priority = 3};
  for (const std::string& metric : message.metrics()) {
    PlacerRule::BalanceRule balance;
    balance.set_metric(metric);
    if (absl::Status s = adder(balance); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status At(const std::string& path, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", std::string(status.message())));
}

}  // namespace

absl::Status AddRules(const v1::PlacementProblem& message, solver::Model& model) {
  if (message.constraints_size() > kMostRules || message.goals_size() > kMostRules) {
    return absl::InvalidArgumentError(
        absl::StrCat("constraints, goals: found ", message.constraints_size(), " and ",
                     message.goals_size(), "; allowed: at most ", kMostRules, " each"));
  }
  Adder adder{.model = model, .message = message, .constraint = true, .rank = {}};
  for (int i = 0; i < message.constraints_size(); ++i) {
    const std::string path = absl::StrCat("constraints[", i, "]");
    const PlacerRule& rule = message.constraints(i);
    if (rule.priority() != 0 || rule.weight() != 0) {
      return At(path, absl::InvalidArgumentError(
                          "found a priority or a weight; allowed: those of goals only"));
    }
    if (absl::Status s = At(path, adder.AddRule(rule)); !s.ok()) return s;
  }
  if (message.constraints().empty()) {
    if (absl::Status s = AddDefaultConstraints(message, adder); !s.ok()) return s;
  }
  adder.constraint = false;
  for (int i = 0; i < message.goals_size(); ++i) {
    const PlacerRule& rule = message.goals(i);
    const std::string path = absl::StrCat("goals[", i, "]");
    const uint32_t priority = Or(rule.priority(), 1u);
    const double weight = Or(rule.weight(), 1.0);
    if (priority > static_cast<uint32_t>(solver::kGoals) || !(weight > 0 && weight <= 1e9)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": found priority ", priority, ", weight ", weight,
                       "; allowed: priority 1 to ", solver::kGoals, ", weight above 0 to 1e9"));
    }
    adder.rank = {.priority = static_cast<int>(priority), .weight = weight};
    if (absl::Status s = At(path, adder.AddRule(rule)); !s.ok()) return s;
  }
  if (message.goals().empty()) return AddDefaultGoals(message, adder);
  return absl::OkStatus();
}

}  // namespace shardmanager::placer
