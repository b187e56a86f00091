#include "orchestrator/decide/roles.h"

#include <tuple>

#include "base/defect.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/handover.h"
#include "orchestrator/decide/keys/replacements.h"
#include "orchestrator/decide/members.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// The role goes to `to`, or is its own again. From now on it may acknowledge what only those know
// that are in step now: members of former lives are written down as none in the same write.
void Entrust(const PartitionState& state, Change& change, ReplicaIndex to, PhaseChange role) {
  change.phases.push_back(role);
  state.tables.ForEach(state.tables.replica(to).shard, [&](ReplicaIndex r, const Replica& replica) {
    if (r == to || replica.phase != Phase::kGranted || replica.role != Role::kSecondary) return;
    if (HasLeft(state, replica)) {
      change.phases.push_back({r, Phase::kGranted, RoleChange::kNone, 0});
    }
  });
}

void Promote(const PartitionState& state, Change& change, ReplicaIndex next) {
  Entrust(state, change, next, {next, Phase::kGranted, RoleChange::kPromote});
}

// In one write. From now on whoever had the role lacks what the next one acknowledges, unless it is
// in step.
void PassRole(const PartitionState& state, Change& change, ReplicaIndex from, bool gone,
              ReplicaIndex next) {
  PhaseChange demoted{from, Phase::kGranted, RoleChange::kDemote};
  const bool in_step = !gone && IsCurrent(state, state.tables.replica(from));
  if (!in_step && !state.replication.quorum) demoted.member_life = 0;
  change.phases.push_back(demoted);
  Promote(state, change, next);
}

template <typename IsAwaited>
ServerIndex FindAwaited(const PartitionState& state, ShardIndex id, const IsAwaited& is_awaited) {
  ServerIndex awaited;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const bool secondary = replica.phase == Phase::kGranted && replica.role == Role::kSecondary;
    if (secondary && is_awaited(replica)) awaited = replica.server;
  });
  return awaited;
}

// One that is in step lives, and has not said yet that it serves: nobody else is elected.
ServerIndex AwaitedMember(const PartitionState& state, ShardIndex id) {
  return FindAwaited(state, id, [&](const Replica& replica) {
    const Server& server = state.tables.server(replica.server);
    return server.state == ServerState::kLive && IsCurrent(state, replica);
  });
}

// One that was in step in a former life: if its storage outlived that, it has everything. It is
// waited for as long as a lost server is.
ServerIndex AwaitedFormerMember(const PartitionState& state, ShardIndex id) {
  if (Planted(Defect::kElectsWhoIsBackFirst)) return ServerIndex();
  return FindAwaited(state, id,
                     [&](const Replica& replica) { return IsAwaitedFormer(state, replica); });
}

// Whoever is waited for before one is elected that may lack something; invalid: nobody is.
ServerIndex AwaitedBeforeOthers(const PartitionState& state, ShardIndex id) {
  const ServerIndex member = AwaitedMember(state, id);
  return member.valid() ? member : AwaitedFormerMember(state, id);
}

// There is no primary, and nobody can be promoted. `last_resort`: from then on one may be that may
// lack something, if that is known.
void AwaitSuccessor(const PartitionState& state, Change& change, ShardIndex id,
                    TimePoint last_resort = {}) {
  if (change.Awaits(WaitReason::kNoMajority)) return;
  const ServerIndex member = AwaitedBeforeOthers(state, id);
  change.waits.push_back(
      {.reason = member.valid() ? WaitReason::kMemberAwaited : WaitReason::kNoSecondaryInStep,
       .server = member,
       .until = last_resort});
}

// The primary, or the one that is to lose that role, is lost.
void ReplaceLost(const PartitionState& state, Change& change, ShardIndex id, ReplicaIndex lost) {
  ReplicaIndex next = BestSecondary(state, id, /*in_step=*/true);
  const Server& server = state.tables.server(state.tables.replica(lost).server);
  const bool last_resort = IsLastResort(state, server) && !AwaitedBeforeOthers(state, id).valid();
  if (!next.valid() && last_resort) next = BestSecondary(state, id, /*in_step=*/false);
  if (!next.valid()) return AwaitSuccessor(state, change, id, LastResortAt(state, server));
  PassRole(state, change, lost, /*gone=*/true, next);
}

void DecideDemotion(const PartitionState& state, Change& change, ShardIndex id,
                    ReplicaIndex demoting) {
  const Replica& replica = state.tables.replica(demoting);
  if (IsGone(state.tables.server(replica.server))) return ReplaceLost(state, change, id, demoting);
  const bool called_off = IsCalledOff(state, replica);  // else it fails, for whatever reason
  const bool stopped = replica.contact == Contact::kDone;
  if (stopped && StopsToBeReplaced(state, id)) return;  // DecideReplacement
  const bool goes_on = replica.failures < kMostFailures && !called_off;
  if (!stopped && goes_on) return;
  const ReplicaIndex next = BestSecondary(state, id, /*in_step=*/true);
  if (stopped && next.valid()) {
    return PassRole(state, change, demoting, /*gone=*/false, next);
  }
  // In another life it may have nothing: one that has everything, and has not said yet that it
  // serves, is waited for.
  if (!next.valid() && !IsCurrent(state, replica) && AwaitedMember(state, id).valid()) {
    return AwaitSuccessor(state, change, id);
  }
  // Called off. But one that began anew, and cannot turn, makes way if another is in step. If
  // nobody is, it stays, as in DecidePrimary: everything may be in its storage.
  const bool stays = IsCurrent(state, replica) || !next.valid();
  change.phases.push_back({.replica = demoting,
                           .to = stays ? Phase::kGranted : Phase::kDropping,
                           .failed = stays && called_off});
}

// Its server could not add it for as long as a lost server is waited for, and nobody is in step:
// as after a loss, one that may lack something is better than none. (Not if the server holds the
// shard as a secondary that was in step: then it has everything.)
bool IsHopeless(const PartitionState& state, ShardIndex id, const Replica& primary) {
  const bool has_everything = primary.role_changed && !primary.lacking;
  return IsInTroubleForLong(state, primary) && !has_everything &&
         !AwaitedBeforeOthers(state, id).valid() &&
         BestSecondary(state, id, /*in_step=*/false).valid();
}

// Of a shard whose primary has the right to serve.
void DecidePrimary(const PartitionState& state, Change& change, ShardIndex id,
                   ReplicaIndex primary) {
  const Replica& replica = state.tables.replica(primary);
  const Server& server = state.tables.server(replica.server);
  if (IsGone(server)) {
    if (!PlacesNothing(state)) ReplaceLost(state, change, id, primary);
    return;
  }
  if (server.state != ServerState::kLive) return;  // it came back during a failover
  const bool other = BestSecondary(state, id, /*in_step=*/true).valid();
  if (!IsCurrent(state, replica)) {
    // It came back in another life: one that never left is the better primary.
    if (other) return DecideSwitchover(state, change, id, primary);
    if (AwaitedMember(state, id).valid()) return AwaitSuccessor(state, change, id);
    return Entrust(state, change, primary,
                   {primary, Phase::kGranted, RoleChange::kNone, server.life()});
  }
  const bool stuck = replica.failures >= kMostFailures && replica.contact != Contact::kDone;
  // What nobody ever served is nowhere: another server is as good.
  const bool anywhere = !state.tables.shard(id).began && !IsLastServer(state, replica) &&
                        HasOtherPlace(state, replica);
  if (stuck && (other || anywhere || IsHopeless(state, id, replica)) && !PlacesNothing(state) &&
      MayLeave(state, change, replica)) {
    change.phases.push_back({.replica = primary, .to = Phase::kDropping, .failed = anywhere});
    return;
  }
  const bool may_stop = Serves(state, replica) && MayMove(state, id);
  if (may_stop && !StaysPut(state, id) && WantsOtherPrimary(state, id, replica)) {
    DecideSwitchover(state, change, id, primary);
  }
  if (may_stop && StopsToBeReplaced(state, id)) {
    change.phases.push_back({primary, Phase::kDemoting});
  }
  if (change.empty()) DecideMembers(state, change, id, primary);
}

}  // namespace

void DecideRoles(const PartitionState& state, Change& change, ShardIndex id) {
  if (state.replication.quorum && !HasMajority(state, id)) {
    change.waits.push_back({WaitReason::kNoMajority});
  }
  ReplicaIndex primary;
  ReplicaIndex demoting;
  bool other_right = false;  // of a move that began under another strategy
  bool awaited = AwaitedBeforeOthers(state, id).valid();
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    const Server& server = state.tables.server(replica.server);
    const bool given_up =
        replica.member_life != 0 ? IsLastResort(state, server) : IsGivenUp(server);
    awaited |= replica.phase == Phase::kGranted && IsGone(server) && !given_up;
    if (replica.role != Role::kPrimary) return;
    if (replica.phase == Phase::kGranted) {
      primary = r;
    } else if (replica.phase == Phase::kDemoting) {
      demoting = r;
    } else {
      other_right = true;
    }
  });
  if (demoting.valid()) return DecideDemotion(state, change, id, demoting);
  if (primary.valid()) return DecidePrimary(state, change, id, primary);
  if (other_right) return;
  ReplicaIndex chosen = BestSecondary(state, id, /*in_step=*/true);
  if (!chosen.valid() && !awaited) chosen = BestSecondary(state, id, /*in_step=*/false);
  if (!chosen.valid()) return AwaitSuccessor(state, change, id);
  Promote(state, change, chosen);
}

void DecideSwitchover(const PartitionState& state, Change& change, ShardIndex id,
                      ReplicaIndex primary) {
  const ReplicaIndex next = BestSecondary(state, id, /*in_step=*/true);
  if (!next.valid() || TakesNothing(state.tables.server(state.tables.replica(primary).server))) {
    return;
  }
  if (state.tables.shard(id).primary_is_new) {
    change.waits.push_back({WaitReason::kPrimaryIsNew});
    return;  // kPrimarySettled
  }
  const Cause cause = CauseOfSwitchover(state, state.tables.replica(primary).server);
  if (!state.switchovers.under_way.contains(id) &&
      state.switchovers.under_way.size() >= state.moves.budgets.limits(cause).total) {
    change.waits.push_back({.reason = WaitReason::kSwitchoverBudget,
                            .cause = cause,
                            .count = static_cast<uint32_t>(state.switchovers.under_way.size())});
    return;
  }
  change.phases.push_back({primary, Phase::kDemoting});
}

ReplicaIndex BestSecondary(const PartitionState& state, ShardIndex id, bool in_step) {
  if (state.replication.quorum && !HasMajority(state, id)) return ReplicaIndex();
  const auto hint = state.switchovers.to.find(id);
  const auto rank = [&](const Replica& replica) {
    const Server& server = state.tables.server(replica.server);
    const bool had_everything =
        in_step || replica.member_life != 0 || Planted(Defect::kElectsWhoIsBackFirst);
    return std::tuple(
        !had_everything, hint == state.switchovers.to.end() || hint->second != replica.server,
        server.sheds_primaries, server.planned.closed,
        server.region != state.tables.shard(id).region, server.primaries, replica.server);
  };
  ReplicaIndex best;
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (replica.phase != Phase::kGranted || replica.role != Role::kSecondary) return;
    if (!Serves(state, replica) || replica.in_write ||
        TakesNothing(state.tables.server(replica.server))) {
      return;
    }
    const bool eligible = IsCurrent(state, replica) || Planted(Defect::kElectsAnyone);
    if (in_step && !eligible) return;
    if (!best.valid() || rank(replica) < rank(state.tables.replica(best))) best = r;
  });
  return best;
}

bool WantsOtherPrimary(const PartitionState& state, ShardIndex id, const Replica& primary) {
  if (state.switchovers.to.contains(id)) return true;
  const ReplicaIndex best = BestSecondary(state, id, /*in_step=*/true);
  if (!best.valid() || state.tables.server(state.tables.replica(best).server).planned.closed)
    return false;
  const uint32_t region = state.tables.shard(id).region;
  const auto rank = [&](ServerIndex server) {
    const Server& s = state.tables.server(server);
    const bool near = s.region == region && s.steadiness.IsSteady(state.now);
    return std::pair(s.sheds_primaries, region != 0 && !near);
  };
  return rank(state.tables.replica(best).server) < rank(primary.server);
}

}  // namespace shardmanager::orchestrator
