#include "allocator/allocator.h"

#include <algorithm>

#include "allocator/move_chains.h"
#include "allocator/snapshot_tables.h"
#include "allocator/solver/explain.h"
#include "allocator/solver/search.h"
#include "allocator/solver/specs/place_specs.h"

namespace shardmanager::allocator {
namespace {

using solver::ContainerId;
using solver::ObjectId;

constexpr size_t kReasonsSought = 32;
// Of a replica for each server: a small fleet has few places to try.
constexpr uint64_t kAnnealingStepsOfPlace = 500;

// The highest level at which the object stands better than at its start.
MoveReason ReasonOf(const SnapshotTables& tables, solver::State& state, ObjectId o) {
  const ContainerId start = state.problem().start[o];
  if (!start.valid()) return MoveReason::kPlaceMissing;
  if (tables.input().servers[start.index()].ordered) return MoveReason::kMaintenance;
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

// If some server lacks nothing but room, it is room; else, if some server is only avoided, it is
// that; else a fault domain.
SkipReason WhySkipped(solver::State& state, ObjectId o) {
  const solver::Problem& p = state.problem();
  const bool any_open = std::any_of(p.closed.begin(), p.closed.end(), [](bool c) { return !c; });
  if (!any_open) return SkipReason::kNoServers;
  uint32_t full = 0;
  uint32_t avoided = 0;
  for (const solver::Refusal& refusal : WhyNowhere(state, o)) {
    if (refusal.family == solver::RuleFamily::kLoad) full += refusal.alone;
    if (refusal.family == solver::RuleFamily::kObject) avoided += refusal.alone;
  }
  if (full > 0) return SkipReason::kNoCapacity;
  return avoided > 0 ? SkipReason::kAvoided : SkipReason::kNoFaultDomain;
}

// By how much limits of moves are broken.
double MovesAboveLimits(const solver::State& state) {
  double sum = 0;
  for (const auto& rule : state.custom()) {
    if (rule->name() == solver::kMoveLimitRule) sum += rule->Total();
  }
  return sum;
}

// Does `work`, and takes it back if it passes a limit of moves: one constraint is as good as
// another to the search, but no such limit is to be passed for it.
template <typename Work>
void KeepingLimitsOfMoves(solver::Search& search, Work work) {
  const auto before = search.Where();
  const double above = MovesAboveLimits(search.state());
  work();
  search.GoOnFrom(search.Where());
  if (MovesAboveLimits(search.state()) > above + solver::kTolerance) search.GoOnFrom(before);
}

// What the descent left broken or without a place, as single moves do not mend it or use up the
// moves that there are, is repaired, if that is possible: by moves and trades that mend one server
// after another; and what these do not mend, in a fleet that is not too large for it, by annealing.
void Repair(solver::Search& search, const Options& options, uint64_t replicas) {
  const uint64_t half = options.most_repair_steps / 2;
  if (half == 0 || options.moves.total == 0 || !search.BestScore().Invalid()) return;
  const solver::Patience patience(search.state().steps() + half);
  bool possible = false;
  KeepingLimitsOfMoves(search, [&] { possible = search.Mend(patience); });
  const uint64_t of_replica =
      std::min(options.annealing_steps_per_replica,
               kAnnealingStepsOfPlace * search.state().problem().containers);
  const uint64_t steps = std::min(of_replica * replicas, half);
  if (!possible || steps == 0 || !search.BestScore().Invalid()) return;
  KeepingLimitsOfMoves(search, [&] { search.Anneal({.steps = steps, .anew = true}); });
}

Plan ToPlan(const SnapshotTables& tables, solver::Search& search) {
  Plan plan;
  plan.steps = search.steps();
  solver::State& state = search.mutable_state();
  size_t first = 0;  // move of the shard
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
      if (first < plan.moves.size() && plan.moves[first].shard != shard.shard) {
        first = plan.moves.size();
      }
      plan.moves.push_back({shard.shard, tables.server(state.problem().start[o]), tables.server(at),
                            tables.role_of(r), ReasonOf(tables, state, o)});
      JoinChains(plan.moves, first);
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
    case MoveReason::kMerge:
      return "merge";
    case MoveReason::kAsked:
      return "an operator asked for it";
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
      return "no fault domain is left that may hold one more replica of the shard";
    case SkipReason::kAvoided:
      return "it failed a while ago on each live server that has room for it";
  }
  return "unknown";
}

Plan Solve(const Snapshot& snapshot, const Options& options) {
  const SnapshotTables tables(snapshot, options);
  const auto placement = PlacementModel::Make(tables.input());
  if (!placement.ok()) return {};
  solver::SearchOptions search_options{.seed = options.seed, .step_budget = options.step_budget};
  if (options.mode == Mode::kEmergency) {
    search_options.emergency = true;
  } else {
    const auto ordered = [](const ServerInfo& server) { return server.ordered; };
    const bool drains = std::any_of(snapshot.servers.begin(), snapshot.servers.end(), ordered);
    const uint32_t room = UINT32_MAX - options.moves.total;
    search_options.most_moves =
        options.moves.total + (drains ? std::min(room, options.drain_moves.total) : 0);
  }
  solver::Search search((*placement)->model(), search_options);
  search.Descend();
  if (options.mode == Mode::kPeriodic) Repair(search, options, tables.input().replicas());
  return ToPlan(tables, search);
}

}  // namespace shardmanager::allocator
