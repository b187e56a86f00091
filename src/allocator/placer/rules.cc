#include "allocator/placer/rules.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/solver/specs/all.h"

namespace shardmanager::placer {
namespace {

using solver::ContainerId;
using solver::DomainId;
using v1::PlacerRule;

constexpr int kMostRules = 1000;
constexpr int kMostCompanyLimits = 1'000'000;
constexpr double kMostServerCost = 1e9;
constexpr double kMostMoveCost = 1e15;

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

  // The spec for its metric; where none is named, one for each.
  template <typename Spec>
  absl::Status AddForMetrics(Spec spec, const std::string& metric) {
    if (!metric.empty()) {
      spec.metric = metric;
      return Add(spec);
    }
    for (const std::string& each : message.metrics()) {
      spec.metric = each;
      if (absl::Status s = Add(spec); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  absl::Status operator()(const PlacerRule::CapacityRule& r) {
    solver::CapacitySpec spec;
    spec.scope = ScopeOr(r.scope());
    spec.limit = Or(r.limit(), 1.0);
    spec.transient = r.transient();
    return AddForMetrics(spec, r.metric());
  }
  absl::Status operator()(const PlacerRule::UtilizationRule& r) {
    solver::UtilizationSpec spec;
    spec.scope = ScopeOr(r.scope());
    spec.threshold = Or(r.threshold(), 0.9);
    return AddForMetrics(spec, r.metric());
  }
  absl::Status operator()(const PlacerRule::BalanceRule& r) {
    solver::BalanceSpec spec;
    spec.scope = ScopeOr(r.scope());
    spec.tolerance = Or(r.tolerance(), 0.1);
    return AddForMetrics(spec, r.metric());
  }
  absl::Status operator()(const PlacerRule::ExclusionRule& r) {
    solver::ExclusionSpec spec{.scope = ScopeOr(r.scope()), .most = Or(r.most(), 1u)};
    if (spec.scope == "server") AddMostPerServer(spec);
    return Add(spec);
  }
  // What shards say themselves.
  void AddMostPerServer(solver::ExclusionSpec& spec) const {
    const auto says = [](const v1::PlacerShard& shard) { return shard.most_per_server() > 0; };
    if (std::none_of(message.shards().begin(), message.shards().end(), says)) return;
    for (const v1::PlacerShard& shard : message.shards()) {
      spec.most_of_group.push_back(says(shard) ? shard.most_per_server() : spec.most);
    }
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
  absl::Status operator()(const PlacerRule::LeastLoadRule& r) {
    if (!(r.least() > 0 && r.least() <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("least: found ", r.least(), "; allowed: above 0, up to 1"));
    }
    return Add(solver::LeastLoadSpec{
        .scope = ScopeOr(r.scope()), .metric = r.metric(), .least = r.least()});
  }
  absl::Status operator()(const PlacerRule::ServersInUseRule&) {
    solver::InUseSpec spec;
    for (const v1::PlacerServer& server : message.servers()) {
      spec.cost.push_back(server.has_cost() ? server.cost() : 1);
    }
    return Add(spec);
  }
  absl::Status operator()(const PlacerRule::CompanyRule& r) {
    if (r.limits_size() < 1 || r.limits_size() > kMostCompanyLimits) {
      return absl::InvalidArgumentError(absl::StrCat(
          "limits: found ", r.limits_size(), " entries; allowed: 1 to ", kMostCompanyLimits));
    }
    std::unordered_map<std::string, solver::GroupId> shards;
    for (const v1::PlacerShard& shard : message.shards()) {
      shards.emplace(shard.name(), solver::GroupId(shards.size()));
    }
    solver::CompanySpec spec{.scope = ScopeOr(r.scope()), .limits = {}};
    for (int i = 0; i < r.limits_size(); ++i) {
      const auto& limit = r.limits(i);
      const auto shard = shards.find(limit.shard());
      const auto with = shards.find(limit.with());
      const auto wrong = [&](const char* field, const std::string& name, const char* allowed) {
        return absl::InvalidArgumentError(absl::StrCat("limits[", i, "].", field, ": found \"",
                                                       name.substr(0, 100),
                                                       "\"; allowed: ", allowed));
      };
      if (shard == shards.end()) return wrong("shard", limit.shard(), "the name of a shard");
      if (with == shards.end()) return wrong("with", limit.with(), "the name of a shard");
      if (shard == with) return wrong("with", limit.with(), "another shard than `shard`");
      spec.limits.push_back({shard->second, with->second, limit.most()});
    }
    return Add(spec);
  }
  absl::Status operator()(const PlacerRule::MoveCostRule&) {
    if (constraint) {
      return absl::InvalidArgumentError("found it as a constraint; allowed: as a goal");
    }
    if (model.movement().rank.level != solver::kMovementLevel) {
      return absl::InvalidArgumentError("found a second one; allowed: once");
    }
    return Add(MoveCosts());
  }
  // Of each replica; empty where no shard names any.
  solver::MoveCostSpec MoveCosts() const {
    solver::MoveCostSpec spec;
    const auto says = [](const v1::PlacerShard& shard) { return shard.has_move_cost(); };
    if (std::none_of(message.shards().begin(), message.shards().end(), says)) return spec;
    const solver::Problem& p = model.problem();
    for (uint32_t g = 0; g < p.groups(); ++g) {
      const v1::PlacerShard& shard = message.shards(static_cast<int>(g));
      for (uint32_t o = p.group_begin[g]; o < p.group_begin[g + 1]; ++o) {
        spec.cost.push_back(shard.has_move_cost() ? shard.move_cost() : 1);
      }
    }
    return spec;
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
      case PlacerRule::kLeastLoad:
        return (*this)(rule.least_load());
      case PlacerRule::kServersInUse:
        return (*this)(rule.servers_in_use());
      case PlacerRule::kCompany:
        return (*this)(rule.company());
      case PlacerRule::kMoveCost:
        return (*this)(rule.move_cost());
      case PlacerRule::SPEC_NOT_SET:
        break;
    }
    return absl::InvalidArgumentError(
        "found no spec; allowed: capacity, utilization, balance, exclusion, spread, drain, "
        "region_preference, move_limit, headroom_ratio, least_load, servers_in_use, company, "
        "move_cost");
  }
};

absl::Status AddDefaultConstraints(Adder adder) {
  if (absl::Status s = adder(PlacerRule::CapacityRule()); !s.ok()) return s;
  return adder(PlacerRule::ExclusionRule());
}

absl::Status AddDefaultGoals(Adder adder) {
  adder.rank = {.priority = 1};
  if (absl::Status s = adder(PlacerRule::DrainRule()); !s.ok()) return s;
  adder.rank = {.priority = 2};
  if (absl::Status s = adder(PlacerRule::RegionPreferenceRule()); !s.ok()) return s;
  adder.rank = {.priority = 3};
  return adder(PlacerRule::BalanceRule());
}

bool HasExclusionOnServers(const v1::PlacementProblem& message) {
  const auto is = [](const PlacerRule& rule) {
    return rule.has_exclusion() && ScopeOr(rule.exclusion().scope()) == "server";
  };
  const bool by_default = message.constraints().empty() && !message.no_constraints();
  return by_default ||
         std::any_of(message.constraints().begin(), message.constraints().end(), is) ||
         std::any_of(message.goals().begin(), message.goals().end(), is);
}

absl::Status Refused(const std::string& path, const std::string& found,
                     const std::string& allowed) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": found ", found, "; allowed: ", allowed));
}

// What servers and shards say for the sake of rules.
absl::Status CheckWhatRulesUse(const v1::PlacementProblem& message) {
  for (int i = 0; i < message.servers_size(); ++i) {
    const double cost = message.servers(i).cost();
    if (cost >= 0 && cost <= kMostServerCost) continue;
    return Refused(absl::StrCat("servers[", i, "].cost"), absl::StrCat(cost), "0 to 1e9");
  }
  const bool exclusion = HasExclusionOnServers(message);
  for (int i = 0; i < message.shards_size(); ++i) {
    const v1::PlacerShard& shard = message.shards(i);
    const std::string path = absl::StrCat("shards[", i, "].");
    if (!(shard.move_cost() >= 0 && shard.move_cost() <= kMostMoveCost)) {
      return Refused(path + "move_cost", absl::StrCat(shard.move_cost()), "0 to 1e15");
    }
    if (shard.most_per_server() > 0 && !exclusion) {
      return Refused(path + "most_per_server",
                     absl::StrCat(shard.most_per_server(), " without a rule that reads it"),
                     "beside an `exclusion` of scope server");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNone(const std::string& field, bool none, int rules) {
  if (!none || rules == 0) return absl::OkStatus();
  return Refused("no_" + field, absl::StrCat("true beside ", rules, " ", field),
                 absl::StrCat("true where `", field, "` is empty"));
}

absl::Status CheckLists(const v1::PlacementProblem& message) {
  if (message.constraints_size() > kMostRules || message.goals_size() > kMostRules) {
    return Refused("constraints, goals",
                   absl::StrCat(message.constraints_size(), " and ", message.goals_size()),
                   absl::StrCat("at most ", kMostRules, " each"));
  }
  absl::Status s = CheckNone("constraints", message.no_constraints(), message.constraints_size());
  if (s.ok()) s = CheckNone("goals", message.no_goals(), message.goals_size());
  return s;
}

std::string SpecName(const PlacerRule& rule) {
  const auto* spec = PlacerRule::descriptor()->FindOneofByName("spec");
  const auto* field = rule.GetReflection()->GetOneofFieldDescriptor(rule, spec);
  return field == nullptr ? "" : field->name();
}

// What a spec says of itself, with the whole path of the field: "goals[2].balance.metric: found
// ...".
absl::Status At(const std::string& list, int i, const PlacerRule& rule,
                const absl::Status& status) {
  if (status.ok()) return status;
  const std::string spec = SpecName(rule);
  std::string said(status.message());
  if (said.rfind("shards[", 0) == 0) return status;
  if (!spec.empty() && said.rfind(spec, 0) == 0) said = said.substr(spec.size());
  const bool of_field = said.rfind("found ", 0) != 0 && said.rfind(": ", 0) != 0;
  if (of_field && said.front() != '.') said = "." + said;
  if (said.rfind("found ", 0) == 0) said = ": " + said;
  return absl::InvalidArgumentError(
      absl::StrCat(list, "[", i, "]", spec.empty() ? "" : ".", spec, said));
}

absl::Status AddConstraints(const v1::PlacementProblem& message, Adder adder) {
  if (message.constraints().empty() && !message.no_constraints()) {
    return AddDefaultConstraints(adder);
  }
  for (int i = 0; i < message.constraints_size(); ++i) {
    const PlacerRule& rule = message.constraints(i);
    if (rule.priority() != 0 || rule.weight() != 0) {
      return Refused(absl::StrCat("constraints[", i, "]"), "a priority or a weight",
                     "those of goals only");
    }
    if (absl::Status s = At("constraints", i, rule, adder.AddRule(rule)); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status AddGoals(const v1::PlacementProblem& message, Adder adder) {
  if (message.goals().empty() && !message.no_goals()) return AddDefaultGoals(adder);
  for (int i = 0; i < message.goals_size(); ++i) {
    const PlacerRule& rule = message.goals(i);
    const uint32_t priority = Or(rule.priority(), 1u);
    const double weight = Or(rule.weight(), 1.0);
    if (priority > static_cast<uint32_t>(solver::kGoals) || !(weight > 0 && weight <= 1e9)) {
      return Refused(absl::StrCat("goals[", i, "]"),
                     absl::StrCat("priority ", priority, ", weight ", weight),
                     absl::StrCat("priority 1 to ", solver::kGoals, ", weight above 0 to 1e9"));
    }
    adder.rank = {.priority = static_cast<int>(priority), .weight = weight};
    if (absl::Status s = At("goals", i, rule, adder.AddRule(rule)); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status AddRules(const v1::PlacementProblem& message, solver::Model& model) {
  if (absl::Status s = CheckLists(message); !s.ok()) return s;
  if (absl::Status s = CheckWhatRulesUse(message); !s.ok()) return s;
  Adder adder{.model = model, .message = message, .constraint = true, .rank = {}};
  // Moves count least of all, unless a goal says otherwise.
  const absl::Status moves =
      adder.MoveCosts().AddTo(model, {.level = solver::kMovementLevel, .weight = 1});
  if (!moves.ok()) return moves;
  if (absl::Status s = AddConstraints(message, adder); !s.ok()) return s;
  adder.constraint = false;
  return AddGoals(message, adder);
}

}  // namespace shardmanager::placer
