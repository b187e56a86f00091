#include "allocator/placement/placement.h"

#include <algorithm>
#include <cmath>

#include "allocator/placement/problem_tables.h"
#include "allocator/solver/specs/all.h"

namespace shardmanager::allocator {
namespace {

using solver::AffinitySpec;
using solver::BalanceSpec;
using solver::CapacitySpec;
using solver::ContainerId;
using solver::DomainId;
using solver::DrainSpec;
using solver::ExclusionSpec;
using solver::GroupId;
using solver::GroupRule;
using solver::Model;
using solver::MoveLimitSpec;
using solver::ParallelFailoverSpec;
using solver::PinSpec;
using solver::UtilizationSpec;

// A drain that was ordered outranks a replica's wish for its region, which weighs 1.
constexpr double kOrderedDrainWeight = 10;
// That a replica does not go back outranks utilization and balance. Among what has to leave its
// server, which weighs 1, it gives way.
constexpr double kNoReturnWeight = 0.5;

solver::GoalRank Goal(PlacementGoal goal, double weight = 1) {
  return {.priority = static_cast<int>(goal), .weight = weight};
}

const char* ScopeOf(Spread spread) {
  switch (spread) {
    case Spread::kRack:
      return kRackScope;
    case Spread::kDatacenter:
      return kDatacenterScope;
    case Spread::kRegion:
      return kRegionScope;
    case Spread::kServer:
      break;
  }
  return "server";
}

// A region that is shared is worse than a rack.
double SpreadWeight(Spread level) {
  switch (level) {
    case Spread::kRegion:
      return 4;
    case Spread::kDatacenter:
      return 2;
    default:
      return 1;
  }
}

ExclusionSpec AtMost(uint32_t most, Spread level) {
  return {.scope = ScopeOf(level), .most = most, .most_of_group = {}};
}

// Replicas of a shard stand evenly over the level's domains: none has more than its
// share, rounded up.
absl::Status AddEvenSpread(const PlacementInput& in, Model& model, Spread level) {
  const auto id = FindScope(model.problem(), ScopeOf(level));
  if (!id.ok()) return id.status();
  const uint32_t domains = model.DomainCount(*id);
  if (domains < 2) return absl::OkStatus();
  ExclusionSpec spec = AtMost(1, level);
  uint32_t largest = 0;
  for (uint32_t s = 0; s < in.shards(); ++s) {
    largest = std::max(largest, in.shard_begin[s + 1] - in.shard_begin[s]);
  }
  if (largest < 2) return absl::OkStatus();
  if (largest > domains) {
    for (uint32_t s = 0; s < in.shards(); ++s) {
      const uint32_t replicas = in.shard_begin[s + 1] - in.shard_begin[s];
      spec.most_of_group.push_back((replicas + domains - 1) / domains);
    }
  }
  return model.AddGoal(spec, Goal(PlacementGoal::kSpread, SpreadWeight(level)));
}

// What the spec says of a level, and how its domains are used apart from that.
absl::Status AddSpreadOf(const PlacementInput& in, Model& model, Spread level) {
  for (const SpreadLimit& limit : in.spread_limits) {
    if (limit.level != level) continue;
    if (limit.soft) {
      return model.AddGoal(AtMost(limit.most, level),
                           Goal(PlacementGoal::kSpread, SpreadWeight(level)));
    }
    if (auto s = model.AddConstraint(AtMost(limit.most, level)); !s.ok()) return s;
  }
  return AddEvenSpread(in, model, level);
}

absl::Status AddSpread(const PlacementInput& in, Model& model) {
  absl::Status s = model.AddConstraint(AtMost(1, in.spread));
  if (in.spread == Spread::kRegion) return s;
  for (const Spread level : {Spread::kRegion, Spread::kDatacenter, Spread::kRack}) {
    if (s.ok()) s = AddSpreadOf(in, model, level);
  }
  return s;
}

// One replica of each shard in its region; an invalid one: anywhere.
AffinitySpec InPreferredRegions(const PreferredRegions& regions) {
  AffinitySpec spec{.scope = kRegionScope, .domain = {}, .objects_of_group = {}};
  for (const DomainId region : regions.of_shard) spec.domain.push_back(region);
  return spec;
}

// A goal has room for one wish of each shard: the first one of each, the second one...
std::vector<AffinitySpec> WishGoals(const PlacementInput& in, const PreferredRegions& regions) {
  std::vector<AffinitySpec> goals;
  size_t nth = 0;  // wish of its shard
  for (size_t i = 0; i < in.region_wishes.size(); ++i) {
    const ShardWish& wish = in.region_wishes[i];
    nth = i > 0 && in.region_wishes[i - 1].shard == wish.shard ? nth + 1 : 0;
    if (!regions.of_wish[i].valid()) continue;  // no server is there
    while (goals.size() <= nth) {
      AffinitySpec goal{.scope = kRegionScope, .domain = {}, .objects_of_group = {}};
      goal.domain.assign(in.shards(), DomainId());
      goal.objects_of_group.assign(in.shards(), 0);
      goals.push_back(std::move(goal));
    }
    goals[nth].domain[GroupId(wish.shard)] = regions.of_wish[i];
    goals[nth].objects_of_group[GroupId(wish.shard)] = wish.replicas;
  }
  return goals;
}

// Beside the heaviest one of them: no preference counts for more than 1. Empty: all weigh the same.
solver::Table<GroupId, double> WeightsOfShards(const PlacementInput& in,
                                               const PreferredRegions& regions) {
  uint32_t least = UINT32_MAX;
  uint32_t most = 0;
  for (size_t s = 0; s < in.preference_weight.size(); ++s) {
    if (!regions.of_shard[s].valid()) continue;
    least = std::min(least, in.preference_weight[s]);
    most = std::max(most, in.preference_weight[s]);
  }
  solver::Table<GroupId, double> weights;
  if (least >= most) return weights;
  for (const uint32_t weight : in.preference_weight) {
    weights.push_back(std::clamp<double>(weight, least, most) / most);
  }
  return weights;
}

absl::Status AddRegionPreferences(const PlacementInput& in, const PreferredRegions& regions,
                                  Model& model) {
  if (!in.preferred_region.empty()) {
    AffinitySpec preferred = InPreferredRegions(regions);
    preferred.weight_of_group = WeightsOfShards(in, regions);
    const absl::Status s = model.AddGoal(preferred, Goal(PlacementGoal::kRegionPreference));
    if (!s.ok()) return s;
  }
  for (const AffinitySpec& wishes : WishGoals(in, regions)) {
    const absl::Status s = model.AddGoal(wishes, Goal(PlacementGoal::kRegionPreference));
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

// Of the balance of one metric. Where a capacity is missing the solver counts in units of
// load: as many of them as an even share has are to weigh as much as a capacity does.
double BalanceWeight(const PlacementInput& in, const Model& model, size_t metric) {
  const MetricPolicy& policy = in.metrics[metric];
  if (policy.even) return policy.weight;
  bool unlimited = false;
  for (size_t i = metric; i < in.capacity.size(); i += in.metrics.size()) {
    unlimited |= std::isinf(in.capacity[i]);
  }
  const auto total = static_cast<double>(model.TotalLoad(solver::MetricId(metric)));
  if (!unlimited || total <= 0) return policy.weight;
  return policy.weight * static_cast<double>(in.servers.size()) / total;
}

absl::Status AddLoadGoals(const PlacementInput& in, Model& model, bool regions) {
  for (size_t m = 0; m < in.metrics.size(); ++m) {
    const MetricPolicy& metric = in.metrics[m];
    const std::string& name = metric.name;
    const double weight = BalanceWeight(in, model, m);
    absl::Status s = model.AddConstraint(CapacitySpec{.metric = name});
    if (s.ok() && !metric.even) {
      s = model.AddGoal(UtilizationSpec{.metric = name, .threshold = metric.threshold},
                        Goal(PlacementGoal::kUtilization));
    }
    BalanceSpec balance{
        .metric = name, .tolerance = metric.tolerance, .even = metric.even, .within = ""};
    if (s.ok()) s = model.AddGoal(balance, Goal(PlacementGoal::kGlobalBalance, weight));
    balance.within = kRegionScope;
    if (s.ok() && regions) {
      s = model.AddGoal(balance, Goal(PlacementGoal::kRegionalBalance, weight));
    }
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status AddAvoided(const PlacementInput& in, Model& model) {
  PinSpec spec{.scope = "server", .domains = {}, .avoid = true};
  for (const auto& [shard, server] : in.avoided) {
    for (uint32_t r = in.shard_begin[shard]; r < in.shard_begin[shard + 1]; ++r) {
      if (in.server_of[r] != server) spec.domains[r].push_back(DomainId(server));
    }
  }
  return model.AddConstraint(spec);
}

absl::Status AddNoReturn(const PlacementInput& in, Model& model) {
  PinSpec spec{.scope = "server", .domains = {}, .avoid = true, .name = kNoReturnRule};
  for (const auto& [shard, server] : in.left) {
    for (uint32_t r = in.shard_begin[shard]; r < in.shard_begin[shard + 1]; ++r) {
      const uint32_t at = in.server_of[r];
      const bool has_to_go = at == kNowhere || in.servers[at].draining;
      if (!has_to_go && at != server) spec.domains[r].push_back(DomainId(server));
    }
  }
  return model.AddGoal(spec, Goal(PlacementGoal::kMaintenance, kNoReturnWeight));
}

// One limit for moves off servers that are ordered to be empty (`drains`), one for the others.
absl::Status AddMoveLimit(const PlacementInput& in, bool drains, Model& model) {
  const MoveCaps& caps = drains ? in.drain_moves : in.moves;
  MoveLimitSpec limit{.total = caps.total, .per_container = caps.per_server};
  for (const uint32_t moves : caps.under_way) limit.under_way.push_back(moves);
  for (const ServerRow& server : in.servers) {
    limit.counted.push_back((server.draining && server.ordered) == drains);
  }
  return model.AddConstraint(limit);
}

}  // namespace

absl::StatusOr<std::unique_ptr<PlacementModel>> PlacementModel::Make(const PlacementInput& input) {
  if (absl::Status s = CheckInput(input); !s.ok()) return s;
  std::unique_ptr<PlacementModel> made(new PlacementModel);
  PreferredRegions regions;
  made->problem_ = MakeProblem(input, regions);
  if (absl::Status s = made->problem_.Validate(); !s.ok()) return s;
  made->model_ = std::make_unique<Model>(made->problem_);
  if (absl::Status s = AddRegionPreferences(input, regions, *made->model_); !s.ok()) return s;
  if (absl::Status s = made->AddSpecs(input); !s.ok()) return s;
  return made;
}

absl::Status PlacementModel::AddSpecs(const PlacementInput& in) {
  if (absl::Status s = AddSpread(in, *model_); !s.ok()) return s;
  DrainSpec drain, ordered;
  for (size_t i = 0; i < in.servers.size(); ++i) {
    if (!in.servers[i].draining) continue;
    (in.servers[i].ordered ? ordered : drain).containers.push_back(ContainerId(i));
  }
  absl::Status s = model_->AddGoal(drain, Goal(PlacementGoal::kMaintenance));
  if (s.ok() && !ordered.containers.empty()) {
    s = model_->AddGoal(ordered, Goal(PlacementGoal::kRegionPreference, kOrderedDrainWeight));
  }
  const bool regions = problem_.scopes.back().domains > 1;
  if (s.ok()) s = AddLoadGoals(in, *model_, regions && !in.emergency);
  if (s.ok()) s = AddAvoided(in, *model_);
  if (s.ok()) s = AddNoReturn(in, *model_);
  if (s.ok()) s = AddMoveLimit(in, /*drains=*/false, *model_);
  if (s.ok() && !ordered.containers.empty()) s = AddMoveLimit(in, /*drains=*/true, *model_);
  if (s.ok() && in.most_shared_by_two_servers != UINT32_MAX) {
    s = model_->AddGoal(ParallelFailoverSpec{.most_shared = in.most_shared_by_two_servers},
                        Goal(PlacementGoal::kParallelFailover));
  }
  return s;
}

}  // namespace shardmanager::allocator
