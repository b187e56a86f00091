#include "allocator/allocator.h"

#include <algorithm>
#include <limits>

#include "allocator/solver/explain.h"
#include "allocator/solver/search.h"

namespace shardmanager::allocator {
namespace {

using solver::ContainerId;
using solver::ObjectId;

constexpr char kReplicas[] = "replicas";
// By itself, the number of replicas is balanced exactly. Beside measured loads it gives
// way: a server may hold a quarter above the mean, or two; and one replica too many
// weighs as little as a thousandth of a share of load.
constexpr double kCountTolerance = 0.25;
constexpr double kCountSlack = 2;
constexpr double kCountWeight = 1e-3;
// Sums beyond it say no more.
constexpr double kMostAmount = 1e15;
constexpr size_t kReasonsSought = 32;

// The snapshot's rows, and which of its shards and replicas each one is.
class Tables {
 public:
  explicit Tables(const Snapshot& snapshot, const Options& options) : snapshot_(snapshot) {
    AddMetrics();
    input_.spread = snapshot.spread;
    input_.emergency = options.mode == Mode::kEmergency;
    if (options.mode == Mode::kPeriodic) {
      input_.max_moves = options.max_moves;
      input_.max_moves_per_server = options.max_moves_per_server;
    }
    for (size_t i = 0; i < snapshot.servers.size(); ++i) AddServer(i);
    for (const ShardInfo& shard : snapshot.shards) AddShard(shard);
    if (!snapshot.metrics.empty()) LoosenCount();
  }

  const PlacementInput& input() const { return input_; }
  const ShardInfo& shard_of(uint32_t replica) const {
    const auto after =
        std::upper_bound(input_.shard_begin.begin(), input_.shard_begin.end(), replica);
    return snapshot_.shards[static_cast<size_t>(after - input_.shard_begin.begin()) - 1];
  }
  Role role_of(uint32_t replica) const { return roles_[replica]; }
  ServerIndex server(ContainerId c) const {
    return c.valid() ? snapshot_.servers[c.index()].server : ServerIndex();
  }

 private:
  void AddMetrics() {
    input_.metrics.push_back({.name = kReplicas, .threshold = 1, .tolerance = 0, .even = true});
    for (const MetricInfo& metric : snapshot_.metrics) {
      input_.metrics.push_back(
          {.name = metric.name, .threshold = metric.threshold, .tolerance = metric.tolerance});
    }
  }

  void LoosenCount() {
    double count = input_.replicas();
    for (const ServerInfo& server : snapshot_.servers) count += server.other_replicas;
    const double mean = count / std::max<double>(1, static_cast<double>(snapshot_.servers.size()));
    MetricPolicy& policy = input_.metrics.front();
    policy.weight = kCountWeight;
    policy.tolerance = std::max(kCountTolerance, kCountSlack / std::max(mean, 1e-5));
  }

  void AddServer(size_t position) {
    const ServerInfo& server = snapshot_.servers[position];
    input_.servers.push_back({.region = server.region,
                              .datacenter = server.datacenter,
                              .rack = server.rack,
                              .accepts = server.accepts,
                              .draining = server.draining});
    input_.capacity.push_back(server.capacity == 0 ? std::numeric_limits<double>::infinity()
                                                   : server.capacity);
    input_.other_load.push_back(server.other_replicas);
    for (size_t m = 0; m < snapshot_.metrics.size(); ++m) {
      const size_t cell = position * snapshot_.metrics.size() + m;
      input_.capacity.push_back(snapshot_.capacity[cell]);
      input_.other_load.push_back(std::min(kMostAmount, snapshot_.other_load[cell]));
    }
  }

  void AddShard(const ShardInfo& shard) {
    for (const ReplicaInfo& replica : shard.replicas) {
      AddReplica(PositionOf(replica.server), replica.role, replica.movable);
      ++load_row_;
    }
    for (size_t i = shard.replicas.size(); i < shard.wanted_replicas; ++i) {
      AddReplica(kNowhere, shard.new_role, true);
    }
    ++load_row_;
    input_.shard_begin.push_back(input_.replicas());
    input_.preferred_region.push_back(
        shard.preferred_region == ShardInfo::kNoRegion ? kNoPreference : shard.preferred_region);
  }

  void AddReplica(uint32_t server, Role role, bool movable) {
    input_.server_of.push_back(server);
    input_.pinned.push_back(!movable);
    roles_.push_back(role);
    input_.load.push_back(1);
    const size_t metrics = snapshot_.metrics.size();
    for (size_t m = 0; m < metrics; ++m) {
      input_.load.push_back(snapshot_.load[load_row_ * metrics + m]);
    }
  }

  // REQUIRES: the snapshot lists the server; they are in ascending order.
  uint32_t PositionOf(ServerIndex server) const {
    const auto at =
        std::lower_bound(snapshot_.servers.begin(), snapshot_.servers.end(), server,
                         [](const ServerInfo& info, ServerIndex id) { return info.server < id; });
    return static_cast<uint32_t>(at - snapshot_.servers.begin());
  }

  const Snapshot& snapshot_;
  PlacementInput input_;
  std::vector<Role> roles_;
  size_t load_row_ = 0;  // in snapshot_.load: the next one
};

// The highest level at which the object stands better than at its start.
MoveReason ReasonOf(solver::State& state, ObjectId o) {
  const ContainerId start = state.problem().start[o];
  if (!start.valid()) return MoveReason::kPlaceMissing;
  const ContainerId at = state.Lift(o);
  const solver::Score gain = state.Arrival(o, start) - state.Arrival(o, at);
  state.Put(o, at, at);
  int level = 0;
  while (level < solver::kMovementLevel && gain[level] <= solver::kTolerance) ++level;
  if (level == solver::kConstraintLevel) return MoveReason::kConstraint;
  switch (static_cast<PlacementGoal>(level - solver::kFirstGoalLevel + 1)) {
    case PlacementGoal::kRegionPreference:
      return MoveReason::kRegionPreference;
    case PlacementGoal::kSpread:
      return MoveReason::kSpread;
    case PlacementGoal::kMaintenance:
      return MoveReason::kMaintenance;
    case PlacementGoal::kUtilization:
      return MoveReason::kUtilization;
    default:
      return MoveReason::kBalance;
  }
}

// If room is all that is missing somewhere, it is room; else a fault domain.
SkipReason WhySkipped(solver::State& state, ObjectId o) {
  const solver::Problem& p = state.problem();
  const bool any_open = std::any_of(p.closed.begin(), p.closed.end(), [](bool c) { return !c; });
  if (!any_open) return SkipReason::kNoServers;
  uint32_t full = 0;
  for (const solver::Refusal& refusal : WhyNowhere(state, o)) {
    if (refusal.family == solver::RuleFamily::kLoad) full += refusal.alone;
  }
  return full > 0 ? SkipReason::kNoCapacity : SkipReason::kNoFaultDomain;
}

Plan ToPlan(const Tables& tables, solver::Search& search) {
  Plan plan;
  plan.steps = search.steps();
  solver::State& state = search.mutable_state();
  for (uint32_t r = 0; r < tables.input().replicas(); ++r) {
    const ObjectId o(r);
    const ContainerId at = state.where(o);
    const ShardInfo& shard = tables.shard_of(r);
    if (!at.valid()) {
      if (!plan.skipped.empty() && plan.skipped.back().shard == shard.shard) continue;
      // A reason costs a look at every server: where many are skipped, the rest have
      // the reason of the last one asked.
      const bool ask = plan.skipped.size() < kReasonsSought;
      plan.skipped.push_back(
          {shard.shard, ask ? WhySkipped(state, o) : plan.skipped.back().reason});
    } else if (state.Moved(o)) {
      plan.moves.push_back({shard.shard, tables.server(state.problem().start[o]), tables.server(at),
                            tables.role_of(r), ReasonOf(state, o)});
    }
  }
  return plan;
}

}  // namespace

std::string_view ToString(MoveReason reason) {
  switch (reason) {
    case MoveReason::kPlaceMissing:
      return "place missing replica";
    case MoveReason::kConstraint:
      return "hard limit";
    case MoveReason::kRegionPreference:
      return "region preference";
    case MoveReason::kSpread:
      return "spread";
    case MoveReason::kMaintenance:
      return "its server is to be emptied";
    case MoveReason::kUtilization:
      return "utilization";
    case MoveReason::kBalance:
      return "balance";
  }
  return "unknown";
}

std::string_view ToString(SkipReason reason) {
  switch (reason) {
    case SkipReason::kNoServers:
      return "no live server accepts replicas";
    case SkipReason::kNoCapacity:
      return "every live server is at its capacity";
    case SkipReason::kNoFaultDomain:
      return "no fault domain is left that holds no replica of the shard";
  }
  return "unknown";
}

Plan Solve(const Snapshot& snapshot, const Options& options) {
  const Tables tables(snapshot, options);
  const auto placement = PlacementModel::Make(tables.input());
  if (!placement.ok()) return {};
  solver::SearchOptions search_options{.seed = options.seed, .step_budget = options.step_budget};
  if (options.mode == Mode::kEmergency) {
    search_options.emergency = true;
  } else {
    search_options.most_moves = options.max_moves;
  }
  solver::Search search((*placement)->model(), search_options);
  search.Descend();
  return ToPlan(tables, search);
}

}  // namespace shardmanager::allocator
