// Who is the primary, in apps that have primaries and secondaries (decision 0013).
//
//   the primary is lost            a secondary in step with it is promoted in the same write
//                                  that makes the lost one a secondary: no data move
//   another is to be the primary   granted -> demoting: it lets its requests finish, holds
//                                  what comes, and turns; then, in one write, it is granted
//                                  as a secondary and the other one as the primary, to whom
//                                  it sends on what is meant for the primary
//
// Nobody else is told to be the primary before the old one has said that it is not (or its
// session is over), so the order of the two is all there is to get right. Whoever is lost on
// the way: the next look elects from those that are in step, the old primary included.
#include <algorithm>
#include <tuple>

#include "base/defect.h"
#include "model/map_reach.h"
#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {
namespace {

// Between two planned changes of a shard's primary. The old primary sends requests on, and who
// gets them must be the primary still, as nobody sends them on twice: so clients have to know
// the new one, and what was on its way must have come, before there is another.
constexpr Duration kTurnPause = kClientsReturnWithin + Seconds(1);

}  // namespace

// Adds to change_ what brings the roles of the shard one step on.
void Partition::DecideRoles(ShardIndex id) {
  ReplicaIndex primary;
  ReplicaIndex demoting;
  bool other_right = false;  // of a move that began under another strategy
  bool awaited = IsMemberAwaited(id);
  tables_.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    const Server& server = tables_.server(replica.server);
    awaited |= replica.phase == Phase::kGranted && IsGone(server) && !IsGivenUp(server);
    if (replica.role != Role::kPrimary) return;
    if (replica.phase == Phase::kGranted) {
      primary = r;
    } else if (replica.phase == Phase::kDemoting) {
      demoting = r;
    } else {
      other_right = true;
    }
  });
  if (demoting.valid()) return DecideDemotion(id, demoting);
  if (primary.valid()) return DecidePrimary(id, primary);
  if (other_right) return;
  ReplicaIndex chosen = BestSecondary(id, /*in_step=*/true);
  if (!chosen.valid() && !awaited) chosen = BestSecondary(id, /*in_step=*/false);
  if (chosen.valid()) change_.phases.push_back({chosen, Phase::kGranted, Turn::kPromote});
}

void Partition::DecideDemotion(ShardIndex id, ReplicaIndex demoting) {
  const Replica& replica = tables_.replica(demoting);
  const bool gone = IsGone(tables_.server(replica.server));
  const bool called_off = IsCalledOff(replica);  // else it fails, for whatever reason
  const bool goes_on = replica.failures < kMostFailures && !called_off;
  if (!gone && replica.contact != Contact::kDone && goes_on) return;
  const ReplicaIndex next = BestSecondary(id, /*in_step=*/true);
  const bool stopped = gone || replica.contact == Contact::kDone;
  if (!gone && (!stopped || !next.valid())) {
    // In another life it has nothing: one that has everything, and has not said yet that it serves,
    // is waited for.
    if (!next.valid() && !IsCurrent(replica) && IsMemberAwaited(id)) return;
    // Called off; unless it is to lose its role because it is not fit for it, and another one is
    // there.
    const bool stays = IsCurrent(replica) || !BestSecondary(id, /*in_step=*/false).valid();
    change_.phases.push_back({.replica = demoting,
                              .to = stays ? Phase::kGranted : Phase::kDropping,
                              .failed = stays && called_off});
    return;
  }
  PassRole(demoting, gone, next);
}

// In one write. `next` may be invalid: then there is no primary for now.
void Partition::PassRole(ReplicaIndex from, bool gone, ReplicaIndex next) {
  PhaseChange demoted{from, Phase::kGranted, Turn::kDemote};
  if (gone && !spec_.replication().quorum()) demoted.member_life = 0;
  change_.phases.push_back(demoted);
  if (next.valid()) change_.phases.push_back({next, Phase::kGranted, Turn::kPromote});
}

// Of a shard whose primary has the right to serve.
void Partition::DecidePrimary(ShardIndex id, ReplicaIndex primary) {
  const Replica& replica = tables_.replica(primary);
  const Server& server = tables_.server(replica.server);
  if (IsGone(server)) {
    ReplicaIndex next = BestSecondary(id, /*in_step=*/true);
    const bool last_resort = IsGivenUp(server) && !IsMemberAwaited(id);
    if (!next.valid() && last_resort) next = BestSecondary(id, /*in_step=*/false);
    if (next.valid()) PassRole(primary, /*gone=*/true, next);
    return;
  }
  if (server.state != ServerState::kLive) return;  // it came back during a failover
  const bool other = BestSecondary(id, /*in_step=*/true).valid();
  if (!IsCurrent(replica)) {
    // It came back in another life: one that never left is the better primary.
    if (other) return TurnPrimary(id, primary);
    if (IsMemberAwaited(id)) return;
    change_.phases.push_back({primary, Phase::kGranted, Turn::kNone, server.life()});
    return;
  }
  const bool stuck = replica.failures >= kMostFailures && replica.contact != Contact::kDone;
  // What nobody ever served is nowhere: another server is as good.
  const bool anywhere =
      !tables_.shard(id).began && !IsLastServer(replica) && HasOtherPlace(replica);
  if (stuck && (other || anywhere || IsHopeless(id, replica)) && MayLeave(replica)) {
    change_.phases.push_back({.replica = primary, .to = Phase::kDropping, .failed = anywhere});
    return;
  }
  if (Serves(replica) && MayMove(id) && WantsOtherPrimary(id, replica)) TurnPrimary(id, primary);
  if (change_.empty()) DecideMembers(id, primary);
}

// Its server could not add it for as long as a lost server is waited for, and nobody is in step:
// as after a loss, one that may lack something is better than none. (Not if the server holds the
// shard as a secondary that was in step: then it has everything.)
bool Partition::IsHopeless(ShardIndex id, const Replica& primary) const {
  const auto trouble = errors_.find(Key(id, primary.server));
  const Duration patience = Milliseconds(spec_.failover().delay_ms());
  const bool long_ago = trouble != errors_.end() && now_ >= trouble->second.since + patience;
  const bool has_everything = primary.turned && !primary.lacking;
  return long_ago && !has_everything && !IsMemberAwaited(id) &&
         BestSecondary(id, /*in_step=*/false).valid();
}

// Another one is to be the primary, as soon as there is room among such changes.
void Partition::TurnPrimary(ShardIndex id, ReplicaIndex primary) {
  const ReplicaIndex next = BestSecondary(id, /*in_step=*/true);
  if (!next.valid() || TakesNothing(tables_.server(tables_.replica(primary).server))) return;
  if (tables_.shard(id).primary_is_new) return;  // kTurnAgain
  const Cause cause = CauseOfTurn(tables_.replica(primary).server);
  if (!turns_.contains(id) && turns_.size() >= budgets_.limits(cause).total) {
    turn_waiters_.insert(id);
    return;
  }
  change_.phases.push_back({primary, Phase::kDemoting});
}

// The change is being written. Who is to be the next one stays the same to its end.
void Partition::BeginTurn(ShardIndex id) {
  turns_.insert(id);
  const ReplicaIndex next = BestSecondary(id, /*in_step=*/true);
  if (next.valid()) turn_to_[id] = tables_.replica(next).server;
}

// Another server is its primary, as planned.
void Partition::BeginTurnPause(ShardIndex id) {
  tables_.shard(id).primary_is_new = true;
  SetTimer(kTurnPause, TimerKind::kTurnAgain, id.index());
}

// A shard whose server is to be emptied does not wait for the next periodic look at the balance.
void Partition::EndTurnPause(ShardIndex id) {
  tables_.shard(id).primary_is_new = false;
  sent_to_.erase(id);
  MarkDirty(id);
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    balance_soon_ |= CauseOfMove(replica.server) == Cause::kDrain;
  });
}

// After a write of the shard: the change is over when nobody is being demoted.
void Partition::EndTurn(ShardIndex id) {
  bool demoting = false;
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    demoting |= replica.phase == Phase::kDemoting;
  });
  if (demoting) return;
  if (turns_.erase(id) == 0) return;
  turn_to_.erase(id);
  BeginTurnPause(id);
  WakeTurnWaiter();
}

// Whoever waits first for room is looked at: it takes it, waits on, or wakes the next one.
void Partition::WakeTurnWaiter() {
  if (!turn_waiters_.empty()) MarkDirty(*turn_waiters_.begin());
}

// In step: it knows all that was acknowledged, in this life of its server. (Where a
// majority decides what is acknowledged, the application's own log outlives its process.) In step
// with nobody is not in step: a server that was lost before this leader came has no known life.
bool Partition::IsCurrent(const Replica& replica) const {
  if (replica.member_life == 0 || spec_.replication().quorum()) return replica.member_life != 0;
  return replica.member_life == tables_.server(replica.server).life();
}

bool Partition::InStep(const Replica& replica) const {
  return Serves(replica) && (replica.role == Role::kPrimary || IsCurrent(replica));
}

// One that is in step lives, and has not said yet that it serves: nobody else is elected.
bool Partition::IsMemberAwaited(ShardIndex id) const {
  bool awaited = false;
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    awaited |= replica.phase == Phase::kGranted && replica.role == Role::kSecondary &&
               IsCurrent(replica) && tables_.server(replica.server).state == ServerState::kLive;
  });
  return awaited;
}

bool Partition::HasMajority(ShardIndex id) const {
  uint32_t members = 0;
  uint32_t live = 0;
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    members += replica.member_life != 0;
    const bool turns = replica.phase == Phase::kDemoting && !IsGone(tables_.server(replica.server));
    live += replica.member_life != 0 && (Serves(replica) || turns);
  });
  return live > members / 2 || members == 0;
}

// Who is to be the primary next; invalid: nobody can be. Not one whose server is being
// drained, near the clients if they have a preferred region, where there are few primaries.
ReplicaIndex Partition::BestSecondary(ShardIndex id, bool in_step) const {
  if (spec_.replication().quorum() && !HasMajority(id)) return ReplicaIndex();
  const auto hint = turn_to_.find(id);
  const auto rank = [&](const Replica& replica) {
    const Server& server = tables_.server(replica.server);
    return std::tuple(hint == turn_to_.end() || hint->second != replica.server,
                      server.sheds_primaries, server.region != tables_.shard(id).region,
                      server.primaries, replica.server);
  };
  ReplicaIndex best;
  tables_.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (replica.phase != Phase::kGranted || replica.role != Role::kSecondary) return;
    if (!Serves(replica) || replica.in_write || TakesNothing(tables_.server(replica.server)))
      return;
    const bool eligible = IsCurrent(replica) || Planted(Defect::kElectsAnyone);
    if (in_step && !eligible) return;
    if (!best.valid() || rank(replica) < rank(tables_.replica(best))) best = r;
  });
  return best;
}

bool Partition::WantsOtherPrimary(ShardIndex id, const Replica& primary) const {
  if (turn_to_.contains(id)) return true;
  const ReplicaIndex best = BestSecondary(id, /*in_step=*/true);
  if (!best.valid()) return false;
  const uint32_t region = tables_.shard(id).region;
  const auto rank = [&](ServerIndex server) {
    const Server& s = tables_.server(server);
    return std::pair(s.sheds_primaries, region != 0 && s.region != region);
  };
  return rank(tables_.replica(best).server) < rank(primary.server);
}

// Evens out how many primaries servers have, where no replica needs to move for it. A few at
// a time; it is called again when these are done.
void Partition::BalancePrimaries() {
  if (!HasBothRoles()) return;
  std::vector<uint32_t> count(tables_.server_count());
  for (uint32_t i = 0; i < count.size(); ++i) count[i] = tables_.server(ServerIndex(i)).primaries;
  for (const auto& [id, to] : turn_to_) {  // as if those were done
    const ReplicaIndex primary = PrimaryOf(id);
    if (!primary.valid()) continue;
    --count[tables_.replica(primary).server.index()];
    ++count[to.index()];
  }
  size_t room = budgets_.limits(Cause::kBalance).total;
  for (ShardIndex id : map_order_) {
    const ReplicaIndex primary = PrimaryOf(id);
    if (room <= turns_.size() || !primary.valid() || turn_to_.contains(id)) continue;
    // It is looked at again: EndTurnPause, kMoveAgain.
    if (tables_.shard(id).primary_is_new || !MayMove(id)) continue;
    const ServerIndex from = tables_.replica(primary).server;
    const ReplicaIndex best = BestSecondary(id, /*in_step=*/true);
    if (!best.valid()) continue;
    const ServerIndex to = tables_.replica(best).server;
    const bool nearer = tables_.server(from).region == tables_.shard(id).region &&
                        tables_.server(to).region != tables_.shard(id).region;
    if (nearer || tables_.server(to).sheds_primaries || count[from.index()] < count[to.index()] + 2)
      continue;
    --count[from.index()];
    ++count[to.index()];
    --room;
    turn_to_[id] = to;
    MarkDirty(id);
  }
}

}  // namespace shardmanager::orchestrator
