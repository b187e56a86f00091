#include "orchestrator/core/planner.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "orchestrator/decide/drains.h"
#include "orchestrator/decide/failover.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/snapshot.h"
#include "orchestrator/decide/unread.h"
#include "orchestrator/decide/view.h"
#include "orchestrator/describe/asked_moves.h"

namespace shardmanager::orchestrator {
namespace {

// A periodic look ends after so many steps of the search: many times what it takes to
// repair a whole fleet, and not so many that a small app's plan takes long to polish.
constexpr uint64_t kPeriodicSteps = 10'000;
constexpr uint64_t kPeriodicStepsPerShard = 100;

// A fleet that starts joins server by server, and the first one must not get everything:
// shards that never had a place wait until no server has joined for so long, or since the
// first one for so long.
constexpr Duration kGatherQuiet = Milliseconds(200);
constexpr Duration kGatherMost = Seconds(2);

}  // namespace

void Planner::Request() {
  if (state_.balance.plan_out || !state_.recovered || state_.deleting) return;
  if (PlacesNothing(state_)) return;
  std::vector<ShardIndex> wanted = TakeMissing();
  if (wanted.empty()) {
    ConsiderBalance();
    return;
  }
  allocator::Snapshot snapshot = FleetSnapshot(state_, state_.loads.reported);
  BarFull(state_, snapshot);
  for (ShardIndex id : wanted) {
    AddToSnapshot(state_, id, Purpose::kEmergency, state_.loads.reported, snapshot);
  }
  Send(std::move(snapshot), allocator::Mode::kEmergency);
  state_.missing.SetPlanned(std::move(wanted));
}

// Shards that the next plan looks at, ascending.
std::vector<ShardIndex> Planner::TakeMissing() {
  const bool gathered = state_.now >= state_.gather_until;
  // Servers that join one after another are one change, unless they are the first ones.
  const bool first = state_.missing.count(allocator::SkipReason::kNoServers) > 0;
  if (agenda_.retry_soon() && (gathered || first)) {
    agenda_.Retried();
    state_.missing.RetryAll();
  }
  if (gathered) state_.missing.FleetGathered();
  std::vector<ShardIndex> wanted;
  for (ShardIndex id : state_.missing.TakeNext()) {
    const Shard& shard = state_.tables.shard(id);
    if (!shard.missing) continue;
    if (WaitsForFleet(state_, shard, state_.now)) {
      state_.missing.AwaitFleet(id);
    } else {
      wanted.push_back(id);
    }
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  return wanted;
}

void Planner::ConsiderBalance() {
  if (MovesNothing(state_)) return;
  if (!agenda_.balance_soon() || state_.writes.out || !state_.writes.queue.empty()) return;
  if (!state_.moves.budgets.Left(Cause::kBalance) && !state_.moves.budgets.Left(Cause::kDrain)) {
    return;
  }
  agenda_.LookedAtBalance();
  if (state_.moves.left.Forget(state_.now) && IsUneven(state_)) state_.balance.at_rest = false;
  load_book_.ConsiderLoads();
  if (!WorthBalancing(state_)) return;
  roles_first_ = !BalanceWaits() && switchovers_.RelieveServers();
  allocator::Snapshot snapshot = FleetSnapshot(state_, state_.loads.planned);
  BarAvoided(state_, snapshot);
  BarUnsteady(state_, snapshot);
  std::vector<ShardIndex> all = state_.map_order;
  std::sort(all.begin(), all.end());
  for (ShardIndex id : all) {
    if (!HeldBack(state_, id)) {
      AddToSnapshot(state_, id, Purpose::kBalance, state_.loads.planned, snapshot);
    }
  }
  Send(std::move(snapshot), allocator::Mode::kPeriodic);
}

// For what has begun elsewhere: only what has to leave its server moves.
bool Planner::BalanceWaits() const {
  return OrderThatHoldsBalance(state_) != nullptr || HoldsBalance(state_);
}

void Planner::Send(allocator::Snapshot snapshot, allocator::Mode mode) {
  allocator::Options options{.mode = mode, .seed = seed_ + plan_};
  const auto left = [&](Cause cause) {
    return allocator::MoveLimits{.total = state_.moves.budgets.Room(cause),
                                 .per_server = state_.moves.budgets.limits(cause).per_server};
  };
  options.moves = left(Cause::kBalance);
  // While container operations are under way, only what has to leave moves: each shard at most
  // once, if there is room where nothing is pending. Likewise while changes of primaries may do.
  if (BalanceWaits() || roles_first_) options.moves.total = 0;
  options.drain_moves = left(Cause::kDrain);
  if (mode == allocator::Mode::kPeriodic) {
    options.step_budget = kPeriodicSteps + kPeriodicStepsPerShard * snapshot.shards.size();
  }
  state_.balance.plan_out = true;
  plan_may_balance_ = !HoldsBalance(state_) && !roles_first_;
  plan_is_emergency_ = mode == allocator::Mode::kEmergency;
  // Moves that it finds, or a change, end that.
  if (!plan_is_emergency_) state_.balance.at_rest = !roles_first_;
  agenda_.Do(ComputePlan{++plan_, std::move(snapshot), options});
}

// One note a plan, and only when there is news.
void Planner::NoteSkipped(const allocator::Plan& plan) {
  const allocator::Skipped* first = nullptr;
  for (const allocator::Skipped& skipped : plan.skipped) {
    if (!state_.tables.shard(skipped.shard).missing) continue;
    const bool failed = !FailedAt(state_, skipped.shard).empty();
    failed_shards_.AllowFailed(skipped.shard);
    if (failed && FailedAt(state_, skipped.shard).empty()) state_.missing.MayHelp(Help::kAny);
    const bool news = state_.missing.Park(skipped.shard, skipped.reason, state_.now);
    if (news && first == nullptr) first = &skipped;
  }
  if (first == nullptr) return;
  std::string reason(allocator::ToString(first->reason));
  if (plan.skipped.size() > 1) {
    absl::StrAppend(&reason, " (and ", plan.skipped.size() - 1, " more shards have no place)");
  }
  agenda_.AddNote(NoteKind::kShardUnplaceable, ServerIndex(), first->shard, std::move(reason));
}

void Planner::AcceptMove(const allocator::Move& move, std::string operation) {
  state_.moves.intents[move.shard].push_back({move.from, move.to, move.reason});
  if (move.from.valid()) {
    if (operation.empty()) operation = OperationBehind(state_, move.from);
    state_.moves.begun[move.shard] = {
        .at = state_.now, .from = move.from, .operation = std::move(operation)};
    agenda_.AddNote(NoteKind::kMoveStarted, move.to, move.shard,
                    absl::StrCat("from ", state_.tables.name(move.from), ": ",
                                 std::string(allocator::ToString(move.reason))));
  }
  agenda_.MarkDirty(move.shard);
}

// Where a region may not have room for all.
void Planner::PutHeavyFirst(allocator::Plan& plan) {
  std::stable_sort(plan.moves.begin(), plan.moves.end(),
                   [&](const allocator::Move& a, const allocator::Move& b) {
                     return state_.tables.shard(a.shard).preference_weight >
                            state_.tables.shard(b.shard).preference_weight;
                   });
}

// Where not all can be restored at once. (What one plan proposes is taken in its order.)
void Planner::PutUrgentFirst(allocator::Plan& plan) {
  absl::flat_hash_map<ShardIndex, uint32_t> ranks;
  for (const allocator::Move& move : plan.moves) {
    ranks.try_emplace(move.shard, FailoverRank(state_, move.shard));
  }
  std::stable_sort(plan.moves.begin(), plan.moves.end(),
                   [&](const allocator::Move& a, const allocator::Move& b) {
                     return ranks[a.shard] < ranks[b.shard];
                   });
}

void Planner::Gather() {
  if (state_.now >= state_.gather_until) gather_deadline_ = state_.now + kGatherMost;
  state_.gather_until = std::min(state_.now + kGatherQuiet, gather_deadline_);
  agenda_.SetTimer(state_.gather_until - state_.now, TimerKind::kGather);
}

void Planner::SetBalanceTimer() {
  const Duration interval = Milliseconds(state_.spec.moves().balance_interval_ms());
  state_.balance.next = state_.now + interval;
  agenda_.SetTimer(interval, TimerKind::kBalance);
}

void Planner::On(MoveAsked& event) {
  const AskedMove move = FindAskedMove(state_, event);
  if (!WhyNotMoved(state_, move).empty()) return;
  state_.moves.intents.erase(move.shard);
  AcceptMove({.shard = move.shard,
              .from = move.from,
              .to = move.to,
              .reason = allocator::MoveReason::kAsked},
             std::move(event.operation));
}

void Planner::On(PlanReady& event) {
  if (!state_.balance.plan_out || event.id != plan_) return;
  state_.balance.plan_out = false;
  if (!plan_is_emergency_) {
    load_book_.GoOn();
    if (event.plan.moves.empty() && !MovesNothing(state_) && plan_may_balance_ &&
        state_.moves.budgets.planned_moves() == 0) {
      load_book_.EndCourse();
      switchovers_.BalancePrimaries();
    }
    state_.balance.ever = true;
    state_.balance.last = state_.now;
    state_.balance.last_moves = event.plan.moves.size();
  }
  // What a periodic plan skips may only lack room among the moves.
  if (plan_is_emergency_) NoteSkipped(event.plan);
  // Unless they get a place now, they need another plan.
  for (ShardIndex id : state_.missing.TakePlanned()) {
    if (state_.tables.shard(id).missing && !state_.missing.Waits(id)) state_.missing.Add(id);
  }
  PutHeavyFirst(event.plan);
  if (state_.moves.budgets.limits(Cause::kFailover).total > 0) PutUrgentFirst(event.plan);
  // What an earlier plan proposed, and is not written yet, does not count any more.
  for (const allocator::Move& move : event.plan.moves) state_.moves.intents.erase(move.shard);
  for (const allocator::Move& move : event.plan.moves) {
    // It was paused, or pinned, or a mass failure began meanwhile.
    if (move.from.valid() && (StaysPut(state_, move.shard) || HoldsMove(state_, move.from))) {
      continue;
    }
    AcceptMove(move);
  }
}

}  // namespace shardmanager::orchestrator
