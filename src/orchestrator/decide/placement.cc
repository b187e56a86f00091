#include "orchestrator/decide/placement.h"

#include <algorithm>
#include <tuple>

#include "base/defect.h"
#include "orchestrator/decide/census.h"
#include "orchestrator/decide/failover.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/handover.h"
#include "orchestrator/decide/keys/replacements.h"
#include "orchestrator/decide/load/demand.h"
#include "orchestrator/decide/load/returns.h"
#include "orchestrator/decide/members.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/roles.h"
#include "orchestrator/decide/room.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// By the change so far.
bool IsGettingNew(const Change& change, ServerIndex id) {
  return std::any_of(change.news.begin(), change.news.end(),
                     [&](const NewReplica& fresh) { return fresh.server == id; });
}

// A primary is handed over, or (in a basic move) the old one stops first. A secondary: the
// new one comes first.
void DecideMove(const PartitionState& state, Change& change, ShardIndex id, const Intent& intent,
                Census& census) {
  if (StaysPut(state, id) && !MayJoinAt(state, id, intent.to)) return;
  const ReplicaIndex from = state.tables.FindReplica(id, intent.from);
  const bool at_rest = from.valid() && !IsEnding(change, from) && !census.moving &&
                       !census.reserved.valid() && census.lost.empty() && change.news.empty() &&
                       census.healthy == state.tables.shard(id).wanted;
  if (!at_rest || state.tables.replica(from).phase != Phase::kGranted) return;
  if (TakesNothing(state.tables.server(intent.from))) return;  // it could not be told to stop
  const Cause cause = CauseOfMove(state, intent.from);
  if (!MayMoveTo(state, id, intent.to) || !MoveBudgetLeft(state, cause, intent)) return;
  if (IsForBalance(intent.reason) && !MayReturnTo(state, id, intent.to)) return;
  // Where there are both roles, a new secondary comes first, whoever goes.
  const bool primary =
      state.tables.replica(from).role == Role::kPrimary && !state.replication.both_roles();
  Phase first = Phase::kGranted;
  // Only apps without secondaries move by handover: every replica is a primary then.
  if (state.replication.handover) {
    if (MovedJustNow(state, id)) return;  // kPrimarySettled
    first = Phase::kPreparing;
    census.moving = true;
  } else if (primary || Planted(Defect::kSurplusFirst)) {
    first = Phase::kReserved;
    change.phases.push_back({from, Phase::kDropping});
    census.moving = true;
  }
  const Role role = state.replication.RoleToAdd();
  change.news.push_back({intent.to, first, cause, intent.from, role, FollowsLoads(intent.reason)});
}

// Of more replicas that serve than wanted, one that its primary could not bring into step several
// times goes: else the surplus would wait for it for ever. If a move made it, the move has failed.
void DecideOutOfStep(const PartitionState& state, Change& change, ShardIndex id) {
  const auto membership = state.members.find(id);
  if (membership == state.members.end()) return;
  size_t serving = 0;
  state.tables.ForEach(
      id, [&](ReplicaIndex, const Replica& replica) { serving += Serves(state, replica); });
  if (serving <= state.tables.shard(id).wanted) return;
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    const Member me{replica.server, state.tables.server(replica.server).incarnation};
    const ToldMembers::Failed* failed = membership->second.FindFailed(me);
    const bool goes = failed != nullptr && failed->failures >= kMostFailures &&
                      replica.phase == Phase::kGranted && replica.role == Role::kSecondary;
    if (!goes || !change.empty() || !MayLeave(state, change, replica)) return;
    change.phases.push_back({.replica = r, .to = Phase::kDropping, .failed = true});
  });
}

// Replicas on servers that are about to stop do not count for those that have to stay: without the
// victim, too few others would be there.
bool WouldMissClosed(const PartitionState& state, ShardIndex id, ReplicaIndex victim) {
  uint32_t staying = 0;
  bool any_closed = false;
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (r == victim || !ServesClients(state, replica)) return;
    const Server& server = state.tables.server(replica.server);
    const bool closed = server.planned.closed && !server.draining;  // (what drains stays till then)
    any_closed |= closed;
    staying += !closed;
  });
  return any_closed && staying < state.tables.shard(id).wanted;
}

}  // namespace

void DecidePlacement(const PartitionState& state, Change& change, ShardIndex id, Census& census) {
  auto it = state.moves.intents.find(id);
  if (it == state.moves.intents.end()) return;
  const Shard& shard = state.tables.shard(id);
  const size_t room = FailoversLeft(state, id);
  if (!census.lost.empty() && room == 0) return;
  size_t repaired = 0;
  for (const Intent& intent : it->second) {
    if (!CanBeTarget(state, id, intent.to) || IsGettingNew(change, intent.to)) continue;
    if (intent.from.valid()) {
      DecideMove(state, change, id, intent, census);
      continue;
    }
    if (census.healthy >= shard.wanted || PlacesNothing(state)) continue;
    NewReplica fresh{intent.to, Phase::kGranted, Cause::kPlacement, ServerIndex(),
                     RoleOfNew(state, change, id, census)};
    if (repaired < census.lost.size()) {
      if (repaired >= room || !state.moves.budgets.Left(Cause::kFailover, intent.to)) continue;
      fresh.cause = Cause::kFailover;
      fresh.origin = state.tables.replica(census.lost[repaired++]).server;
    }
    const bool primary = fresh.role == Role::kPrimary;
    if (primary && census.primary_right) fresh.phase = Phase::kReserved;
    if (primary && state.replication.both_roles()) {
      census.primary_right = true;
      // The one that is lost must not come back as a second one.
      for (ReplicaIndex lost : census.lost) {
        if (state.tables.replica(lost).role != Role::kPrimary) continue;
        change.phases.push_back({lost, Phase::kAbsent});
      }
    }
    change.news.push_back(fresh);
    ++census.healthy;
  }
}

// Its region is to have as many replicas of the shard as it has, or is the one that is preferred.
bool IsWishedWhereItIs(const PartitionState& state, ShardIndex id, const Replica& replica) {
  const uint32_t region = state.tables.server(replica.server).region;
  uint32_t wished = state.tables.shard(id).region == region && region != 0 ? 1 : 0;
  for (const allocator::RegionWish& wish : WishesOf(state, id)) {
    if (wish.region == region) wished = std::max(wished, wish.replicas);
  }
  if (wished == 0) return false;
  uint32_t there = 0;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& other) {
    there += state.tables.server(other.server).region == region && Serves(state, other);
  });
  return there <= wished;
}

void DecideSurplus(const PartitionState& state, Change& change, ShardIndex id,
                   const Census& census) {
  if (state.replication.both_roles() && census.healthy > state.tables.shard(id).wanted) {
    DecideOutOfStep(state, change, id);
  }
  if (!change.empty()) return;
  if (census.serving <= state.tables.shard(id).wanted || census.healthy > census.serving) return;
  auto hint = state.moves.from.find(id);
  ReplicaIndex victim;
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (!Serves(state, replica) || IsEnding(change, r)) return;
    const auto rank = [&](const Replica& x) {
      const bool hinted = hint != state.moves.from.end() && hint->second == x.server;
      // (Where the number of replicas follows the load, one goes often: never the primary, and none
      // that its region is to have.)
      const bool primary = state.scaling.rules.on && x.role == Role::kPrimary;
      const bool wished = state.scaling.rules.on && IsWishedWhereItIs(state, id, x);
      return std::tuple(!hinted, primary, wished,
                        -static_cast<int64_t>(state.tables.server(x.server).replicas.size()),
                        x.epoch);
    };
    if (!victim.valid() || rank(replica) < rank(state.tables.replica(victim))) victim = r;
  });
  if (!victim.valid() || WouldMissClosed(state, id, victim)) return;
  if (state.replication.both_roles() && state.tables.replica(victim).role == Role::kPrimary) {
    if (MayMove(state, id)) {
      DecideSwitchover(state, change, id, victim);  // then it is the surplus secondary
    }
    return;
  }
  if (!MayLeave(state, change, state.tables.replica(victim))) return;
  change.phases.push_back({victim, Phase::kDropping});
}

}  // namespace shardmanager::orchestrator
