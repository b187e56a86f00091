#include "orchestrator/describe/waits.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "model/text.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/handover.h"
#include "orchestrator/decide/roles.h"
#include "orchestrator/decide/room.h"
#include "orchestrator/decide/unread.h"
#include "orchestrator/decide/view.h"
#include "orchestrator/describe/shards.h"

namespace shardmanager::orchestrator {
namespace {

constexpr char kMomentForClients[] = "clients are given a moment to know of it";

std::string In(TimePoint when, TimePoint now) {
  return when > now ? absl::StrFormat("in %.1f s", InSeconds(when - now)) : "now";
}

// The part of the spec that limits such moves.
const char* LimitsOf(Cause cause) { return cause == Cause::kDrain ? "moves.drain" : "moves"; }

void AddReplicaWaits(const PartitionState& state, const Replica& replica, TimePoint now,
                     std::vector<std::string>& out) {
  const Server& server = state.tables.server(replica.server);
  const std::string& name = state.tables.name(replica.server);
  const auto kind = DemandOf(replica.phase);
  const bool add = kind == CommandKind::kAdd || kind == CommandKind::kPrepareAdd;
  const bool turn = kind == CommandKind::kChangeRole;
  if (server.state != ServerState::kLive && !server.failing_over) {
    out.push_back(absl::StrCat(name, " is lost; its replica is given to another server ",
                               In(server.failover_at, now), " (failover.delay_ms)"));
  } else if (replica.phase == Phase::kReserved) {
    out.push_back(absl::StrCat(name, " is to be the new owner: the old one has to stop first"));
  } else if (server.state == ServerState::kLive && server.life_unread) {
    out.push_back(absl::StrCat(name, " cannot be reached: its live record cannot be read"));
  } else if (server.state == ServerState::kLive && !server.reported) {
    out.push_back(absl::StrCat(name, " has not said yet what it holds"));
  } else if (replica.contact == Contact::kRetry) {
    auto trouble = state.failures.troubles.find(Key(replica.shard, replica.server));
    if (trouble == state.failures.troubles.end()) return;
    const std::string tries =
        replica.failures == 0
            ? "could not be reached"
            : absl::StrCat("failed ", Counted(replica.failures, "time"), " in a row");
    const char* what = turn ? "to change the role of" : add ? "to add" : "to drop";
    out.push_back(absl::StrCat(name, ": ", what, " the shard ", tries, " (", trouble->second.error,
                               "); tried again ", In(trouble->second.retry_at, now)));
  } else if (replica.contact == Contact::kAsked) {
    const int percent = ProgressOf(state, replica.shard, replica.server);
    const char* what = turn  ? " was told to be a secondary"
                       : add ? " loads it"
                             : " was told to drop it";
    out.push_back(
        absl::StrCat(name, what, percent < 0 ? "" : absl::StrCat(", ", percent, "% done")));
  }
}

// Of apps that have primaries and secondaries.
void AddRoleWaits(const PartitionState& state, ShardIndex id, TimePoint now,
                  std::vector<std::string>& out) {
  if (state.replication.quorum && !HasMajority(state, id)) {
    out.push_back(
        "less than a majority of its members serve (replication.quorum): neither its primary nor "
        "its members can change");
  } else if (!PrimaryOf(state, id).valid() && !BestSecondary(state, id, /*in_step=*/true).valid()) {
    out.push_back("no secondary is in step, to become the primary");
  }
  const ReplicaIndex primary = PrimaryOf(state, id);
  if (state.tables.shard(id).primary_is_new && primary.valid() &&
      WantsOtherPrimary(state, id, state.tables.replica(primary))) {
    out.push_back(absl::StrCat("another primary is wanted; its primary changed just now, and ",
                               kMomentForClients));
  }
  if (state.turns.waiters.contains(id)) {
    const Cause cause = primary.valid() ? CauseOfTurn(state, state.tables.replica(primary).server)
                                        : Cause::kBalance;
    out.push_back(absl::StrCat("another primary is wanted; ", LimitsOf(cause),
                               ".max_concurrent: all ", state.turns.under_way.size(),
                               " changes of primaries are taken"));
  }
  for (const MoveHolds::HeldPair& pair : HeldPairs(state, id, now)) {
    const std::string& from = state.tables.name(state.tables.replica(primary).server);
    out.push_back(absl::StrCat("nothing of which ", from, " has the primary is moved to ",
                               state.tables.name(pair.to), ", as ", from,
                               " could not bring it into step; tried again ", In(pair.until, now)));
  }
  const auto found = state.members.find(id);
  if (found == state.members.end()) return;
  const Membership& membership = found->second;
  if (membership.contact == Contact::kAsked) {
    out.push_back("its primary was told of a change of its members, and has not said yes yet");
  } else if (membership.contact == Contact::kRetry && !membership.candidate) {
    out.push_back(absl::StrCat("its primary did not take a change of its members (",
                               membership.error, "); tried again soon"));
  }
  for (const Membership::Failed& failed : membership.failed) {
    if (!state.tables.FindReplica(id, failed.member.server).valid()) continue;
    out.push_back(absl::StrCat(state.tables.name(failed.member.server),
                               " is not in step: its primary failed ",
                               Counted(failed.failures, "time"), " in a row to bring it there (",
                               failed.error, "); tried again ", In(failed.retry_at, now)));
  }
}

// Which limit of failovers a shard waits for.
std::string FailoverWait(const PartitionState& state, ShardIndex id) {
  const uint32_t total = state.moves.budgets.limits(Cause::kFailover).total;
  if (!state.moves.budgets.Left(Cause::kFailover)) {
    return absl::StrCat(
        "failover.max_concurrent: ", state.moves.budgets.under_way(Cause::kFailover), " of ", total,
        " replicas are in failover");
  }
  if (FailoversLeft(state, id) == 0) {
    return "failover.max_concurrent_per_shard: other replicas of it are in failover";
  }
  return "failover.max_concurrent_per_server: every server is being given as many replicas";
}

void AddPlaceWaits(const PartitionState& state, ShardIndex id, TimePoint now,
                   std::vector<std::string>& out) {
  const Shard& shard = state.tables.shard(id);
  if (shard.waits_for_budget) out.push_back(FailoverWait(state, id));
  if (!shard.missing) return;
  if (state.missing.Waits(id)) {
    out.push_back(absl::StrCat(
        "no place was found for a replica: ", std::string(UnplaceableReason(state, id)),
        absl::StrFormat("; looked for again within %.0f s, and when a server joins",
                        std::ceil(InSeconds(state.missing.retry_by(now) - now)))));
  } else if (WaitsForFleet(state, shard, now)) {
    out.push_back(absl::StrCat("servers are joining; its first place is looked for ",
                               In(state.gather_until, now), ", when they have gathered"));
  } else {
    out.push_back(state.plan_out ? "a plan is being made that looks for a place"
                                 : "the next plan looks for a place");
  }
}

// Of balance: only what keeps a move from being made.
void AddMoveWaits(const PartitionState& state, ShardIndex id, std::vector<std::string>& out) {
  if (auto it = state.moves.intents.find(id); it != state.moves.intents.end()) {
    for (const Intent& intent : it->second) {
      if (!intent.from.valid()) continue;
      out.push_back(absl::StrCat("a move from ", state.tables.name(intent.from), " to ",
                                 state.tables.name(intent.to), " is planned (",
                                 std::string(allocator::ToString(intent.reason)), ")"));
    }
  }
  for (const Cause cause : {Cause::kBalance, Cause::kDrain}) {
    bool concerned = false;
    state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
      concerned |= CauseOfMove(state, replica.server) == cause;
    });
    if (cause == Cause::kDrain && concerned && state.replication.handover &&
        state.tables.shard(id).primary_is_new) {
      out.push_back(absl::StrCat("it is to move on; it moved just now, and ", kMomentForClients));
    }
    if (state.moves.budgets.Left(cause) || !concerned) continue;
    out.push_back(absl::StrCat(LimitsOf(cause), ".max_concurrent: all ",
                               state.moves.budgets.under_way(cause),
                               " moves are taken; none is planned until some are done"));
  }
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const Cause cause = CauseOfMove(state, replica.server);
    if (state.moves.budgets.Left(cause, replica.server)) return;
    out.push_back(absl::StrCat(LimitsOf(cause), ".max_concurrent_per_server: all ",
                               state.moves.budgets.under_way(cause, replica.server), " moves of ",
                               state.tables.name(replica.server), " are taken"));
  });
}

}  // namespace

std::string UnreadServers(const PartitionState& state) {
  constexpr size_t kMostNamed = 5;
  std::vector<std::string> names;
  for (ServerIndex id : state.unread.servers) {
    if (names.size() < kMostNamed) names.push_back(state.tables.name(id));
  }
  std::string text = absl::StrJoin(names, " or ");
  if (state.unread.servers.size() > kMostNamed) {
    absl::StrAppend(&text, " or ", state.unread.servers.size() - kMostNamed, " others");
  }
  return absl::StrCat(text, ", whose assignment record cannot be read");
}

std::string WhyHeldBack(const PartitionState& state, ShardIndex shard) {
  if (!state.replication.primaries || !state.tables.shard(shard).right_seen ||
      !AwaitsUnreadMembers(state)) {
    return absl::StrCat("it may be on ", UnreadServers(state),
                        ": until that is mended or released, nobody else gets it");
  }
  return absl::StrCat("a secondary that is in step may be on ", UnreadServers(state),
                      ": until every one of these servers has reported what it holds, nobody is "
                      "promoted and the members stay as they are");
}

std::vector<std::string> WaitsOf(const PartitionState& state, ShardIndex id, TimePoint now) {
  std::vector<std::string> waits;
  const Shard& shard = state.tables.shard(id);
  if (shard.in_batch) {
    waits.push_back("its new assignment is being written to the coordination store");
  } else if (state.writes.blocked && shard.waits_for_write) {
    waits.push_back("the coordination store did not take the last write; it is tried again");
  } else if (shard.waits_for_write) {
    waits.push_back(absl::StrCat("its new assignment is in the queue for the next write, with ",
                                 Counted(state.writes.queue.size() - 1, "other shard")));
  }
  if (HeldBack(state, id)) {
    waits.push_back(WhyHeldBack(state, id));
    return waits;
  }
  state.tables.ForEach(
      id, [&](ReplicaIndex, const Replica& r) { AddReplicaWaits(state, r, now, waits); });
  if (shard.poisoned) {
    const MoveHolds::Entry* held = state.failures.holds.Find(id, now);
    waits.push_back(
        absl::StrCat("it failed on several servers in a row: it stays with the last one, and is "
                     "tried elsewhere ",
                     In(held == nullptr ? now : held->until, now), ", or when the spec changes"));
  }
  if (const MoveHolds::Entry* held = state.failures.holds.Find(id, now);
      held != nullptr && !shard.poisoned) {
    const std::string to =
        held->avoid.valid() ? absl::StrCat(" to ", state.tables.name(held->avoid)) : "";
    const char* what = held->avoid.valid()
                           ? " could not be carried out"
                           : " was called off, as requests in flight did not end in time";
    waits.push_back(absl::StrCat("its last move", to, what, "; the next one", to, " is tried ",
                                 In(held->until, now)));
  }
  if (state.failures.overtaken.Contains(id)) waits.emplace_back(kEpochsBehind);
  if (state.replication.both_roles()) AddRoleWaits(state, id, now, waits);
  AddPlaceWaits(state, id, now, waits);
  AddMoveWaits(state, id, waits);
  return waits;
}

std::string BalanceState(const PartitionState& state, TimePoint now) {
  if (!state.recovered) return "reading the app's records from the coordination store";
  if (state.plan_out) return "a plan is being made";
  std::string text = "not looked at yet";
  if (state.balance.ever) {
    text = absl::StrFormat("the last plan, %.1f s ago, ", InSeconds(now - state.balance.last));
    if (state.balance.last_moves == 0) {
      absl::StrAppend(&text, "found nothing to improve");
    } else {
      absl::StrAppend(&text, "made ", state.balance.last_moves, " moves; ",
                      state.moves.budgets.planned_moves(), " are under way");
    }
  }
  if (state.balance.at_rest && state.balance.ever) {
    return absl::StrCat(text, "; at rest until a server, a shard or a load changes");
  }
  return absl::StrCat(text, "; next look ", In(state.balance.next, now));
}

}  // namespace shardmanager::orchestrator
