// What a shard waits for, and what the balance does, as sentences for people. Reading
// only.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/text.h"
#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {
namespace {

constexpr char kMomentForClients[] = "clients are given a moment to know of it";

double SecondsOf(Duration d) { return std::chrono::duration<double>(d).count(); }

std::string In(TimePoint when, TimePoint now) {
  return when > now ? absl::StrFormat("in %.1f s", SecondsOf(when - now)) : "now";
}

// The part of the spec that limits such moves.
const char* LimitsOf(Cause cause) { return cause == Cause::kDrain ? "moves.drain" : "moves"; }

}  // namespace

std::vector<std::string> Partition::WaitsOf(ShardIndex id, TimePoint now) const {
  std::vector<std::string> waits;
  const Shard& shard = tables_.shard(id);
  if (shard.in_batch) {
    waits.push_back("its new assignment is being written to the coordination store");
  } else if (writes_blocked_ && shard.waits_for_write) {
    waits.push_back("the coordination store did not take the last write; it is tried again");
  } else if (shard.waits_for_write) {
    waits.push_back(absl::StrCat("its new assignment is in the queue for the next write, with ",
                                 Counted(write_queue_.size() - 1, "other shard")));
  }
  if (HeldBack(id)) {
    waits.push_back(WhyHeldBack(id));
    return waits;
  }
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& r) { AddReplicaWaits(r, now, waits); });
  if (shard.poisoned) {
    const MoveHolds::Entry* held = move_holds_.Find(id, now);
    waits.push_back(
        absl::StrCat("it failed on several servers in a row: it stays with the last one, and is "
                     "tried elsewhere ",
                     In(held == nullptr ? now : held->until, now), ", or when the spec changes"));
  }
  if (const MoveHolds::Entry* held = move_holds_.Find(id, now);
      held != nullptr && !shard.poisoned) {
    const std::string to =
        held->avoid.valid() ? absl::StrCat(" to ", tables_.name(held->avoid)) : "";
    const char* what = held->avoid.valid()
                           ? " could not be carried out"
                           : " was called off, as requests in flight did not end in time";
    waits.push_back(absl::StrCat("its last move", to, what, "; the next one", to, " is tried ",
                                 In(held->until, now)));
  }
  if (overtaken_.Contains(id)) waits.emplace_back(kEpochsBehind);
  if (HasBothRoles()) AddRoleWaits(id, now, waits);
  AddPlaceWaits(id, now, waits);
  AddMoveWaits(id, waits);
  return waits;
}

void Partition::AddReplicaWaits(const Replica& replica, TimePoint now,
                                std::vector<std::string>& out) const {
  const Server& server = tables_.server(replica.server);
  const std::string& name = tables_.name(replica.server);
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
    auto trouble = errors_.find(Key(replica.shard, replica.server));
    if (trouble == errors_.end()) return;
    const std::string tries =
        replica.failures == 0
            ? "could not be reached"
            : absl::StrCat("failed ", Counted(replica.failures, "time"), " in a row");
    const char* what = turn ? "to change the role of" : add ? "to add" : "to drop";
    out.push_back(absl::StrCat(name, ": ", what, " the shard ", tries, " (", trouble->second.error,
                               "); tried again ", In(trouble->second.retry_at, now)));
  } else if (replica.contact == Contact::kAsked) {
    const int percent = ProgressOf(replica.shard, replica.server);
    const char* what = turn  ? " was told to be a secondary"
                       : add ? " loads it"
                             : " was told to drop it";
    out.push_back(
        absl::StrCat(name, what, percent < 0 ? "" : absl::StrCat(", ", percent, "% done")));
  }
}

// Of apps that have primaries and secondaries.
void Partition::AddRoleWaits(ShardIndex id, TimePoint now, std::vector<std::string>& out) const {
  if (spec_.replication().quorum() && !HasMajority(id)) {
    out.push_back(
        "less than a majority of its members serve (replication.quorum): neither its primary nor "
        "its members can change");
  } else if (!PrimaryOf(id).valid() && !BestSecondary(id, /*in_step=*/true).valid()) {
    out.push_back("no secondary is in step, to become the primary");
  }
  const ReplicaIndex primary = PrimaryOf(id);
  if (tables_.shard(id).primary_is_new && primary.valid() &&
      WantsOtherPrimary(id, tables_.replica(primary))) {
    out.push_back(absl::StrCat("another primary is wanted; its primary changed just now, and ",
                               kMomentForClients));
  }
  if (turn_waiters_.contains(id)) {
    const Cause cause =
        primary.valid() ? CauseOfTurn(tables_.replica(primary).server) : Cause::kBalance;
    out.push_back(absl::StrCat("another primary is wanted; ", LimitsOf(cause),
                               ".max_concurrent: all ", turns_.size(),
                               " changes of primaries are taken"));
  }
  for (const MoveHolds::HeldPair& pair : HeldPairs(id, now)) {
    const std::string& from = tables_.name(tables_.replica(primary).server);
    out.push_back(absl::StrCat("nothing of which ", from, " has the primary is moved to ",
                               tables_.name(pair.to), ", as ", from,
                               " could not bring it into step; tried again ", In(pair.until, now)));
  }
  const auto found = members_.find(id);
  if (found == members_.end()) return;
  const Membership& membership = found->second;
  if (membership.contact == Contact::kAsked) {
    out.push_back("its primary was told of a change of its members, and has not said yes yet");
  } else if (membership.contact == Contact::kRetry && !membership.candidate) {
    out.push_back(absl::StrCat("its primary did not take a change of its members (",
                               membership.error, "); tried again soon"));
  }
  for (const Membership::Failed& failed : membership.failed) {
    if (!tables_.FindReplica(id, failed.member.server).valid()) continue;
    out.push_back(absl::StrCat(tables_.name(failed.member.server),
                               " is not in step: its primary failed ",
                               Counted(failed.failures, "time"), " in a row to bring it there (",
                               failed.error, "); tried again ", In(failed.retry_at, now)));
  }
}

void Partition::AddPlaceWaits(ShardIndex id, TimePoint now, std::vector<std::string>& out) const {
  const Shard& shard = tables_.shard(id);
  if (shard.waits_for_budget) out.push_back(FailoverWait(id));
  if (!shard.missing) return;
  if (missing_.Waits(id)) {
    out.push_back(
        absl::StrCat("no place was found for a replica: ", std::string(UnplaceableReason(id)),
                     absl::StrFormat("; looked for again within %.0f s, and when a server joins",
                                     std::ceil(SecondsOf(missing_.retry_by(now) - now)))));
  } else if (WaitsForFleet(shard, now)) {
    out.push_back(absl::StrCat("servers are joining; its first place is looked for ",
                               In(gather_until_, now), ", when they have gathered"));
  } else {
    out.push_back(plan_out_ ? "a plan is being made that looks for a place"
                            : "the next plan looks for a place");
  }
}

// Which limit of failovers a shard waits for.
std::string Partition::FailoverWait(ShardIndex id) const {
  const uint32_t total = budgets_.limits(Cause::kFailover).total;
  if (!budgets_.Left(Cause::kFailover)) {
    return absl::StrCat("failover.max_concurrent: ", budgets_.under_way(Cause::kFailover), " of ",
                        total, " replicas are in failover");
  }
  if (FailoversLeft(id) == 0) {
    return "failover.max_concurrent_per_shard: other replicas of it are in failover";
  }
  return "failover.max_concurrent_per_server: every server is being given as many replicas";
}

// Of balance: only what keeps a move from being made.
void Partition::AddMoveWaits(ShardIndex id, std::vector<std::string>& out) const {
  if (auto it = intents_.find(id); it != intents_.end()) {
    for (const Intent& intent : it->second) {
      if (!intent.from.valid()) continue;
      out.push_back(absl::StrCat("a move from ", tables_.name(intent.from), " to ",
                                 tables_.name(intent.to), " is planned (",
                                 std::string(allocator::ToString(intent.reason)), ")"));
    }
  }
  for (const Cause cause : {Cause::kBalance, Cause::kDrain}) {
    bool concerned = false;
    tables_.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
      concerned |= CauseOfMove(replica.server) == cause;
    });
    if (cause == Cause::kDrain && concerned && MovesByHandover() &&
        tables_.shard(id).primary_is_new) {
      out.push_back(absl::StrCat("it is to move on; it moved just now, and ", kMomentForClients));
    }
    if (budgets_.Left(cause) || !concerned) continue;
    out.push_back(absl::StrCat(LimitsOf(cause), ".max_concurrent: all ", budgets_.under_way(cause),
                               " moves are taken; none is planned until some are done"));
  }
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const Cause cause = CauseOfMove(replica.server);
    if (budgets_.Left(cause, replica.server)) return;
    out.push_back(absl::StrCat(LimitsOf(cause), ".max_concurrent_per_server: all ",
                               budgets_.under_way(cause, replica.server), " moves of ",
                               tables_.name(replica.server), " are taken"));
  });
}

std::string Partition::BalanceState(TimePoint now) const {
  if (!recovered_) return "reading the app's records from the coordination store";
  if (plan_out_) return "a plan is being made";
  std::string text = "not looked at yet";
  if (ever_balanced_) {
    text = absl::StrFormat("the last plan, %.1f s ago, ", SecondsOf(now - last_balance_));
    if (last_balance_moves_ == 0) {
      absl::StrAppend(&text, "found nothing to improve");
    } else {
      absl::StrAppend(&text, "made ", last_balance_moves_, " moves; ", budgets_.planned_moves(),
                      " are under way");
    }
  }
  if (at_rest_ && ever_balanced_) {
    return absl::StrCat(text, "; at rest until a server, a shard or a load changes");
  }
  return absl::StrCat(text, "; next look ", In(next_balance_, now));
}

}  // namespace shardmanager::orchestrator
