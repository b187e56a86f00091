#include "orchestrator/decide/roles.h"

#include <tuple>

#include "base/defect.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/handover.h"
#include "orchestrator/decide/members.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// In one write. `next` may be invalid: then there is no primary for now.
void PassRole(const PartitionState& state, Change& change, ReplicaIndex from, bool gone,
              ReplicaIndex next) {
  PhaseChange demoted{from, Phase::kGranted, RoleChange::kDemote};
  if (gone && !state.replication.quorum) demoted.member_life = 0;
  change.phases.push_back(demoted);
  if (next.valid()) change.phases.push_back({next, Phase::kGranted, RoleChange::kPromote});
}

// One that is in step lives, and has not said yet that it serves: nobody else is elected.
ServerIndex AwaitedMember(const PartitionState& state, ShardIndex id) {
  ServerIndex awaited;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const bool is_awaited = replica.phase == Phase::kGranted && replica.role == Role::kSecondary &&
                            IsCurrent(state, replica) &&
                            state.tables.server(replica.server).state == ServerState::kLive;
    if (is_awaited) awaited = replica.server;
  });
  return awaited;
}

bool IsMemberAwaited(const PartitionState& state, ShardIndex id) {
  return AwaitedMember(state, id).valid();
}

// There is no primary, and nobody can be promoted.
void AwaitSuccessor(const PartitionState& state, Change& change, ShardIndex id) {
  if (change.Awaits(WaitReason::kNoMajority)) return;
  const ServerIndex member = AwaitedMember(state, id);
  change.waits.push_back(
      {.reason = member.valid() ? WaitReason::kMemberAwaited : WaitReason::kNoSecondaryInStep,
       .server = member});
}

void DecideDemotion(const PartitionState& state, Change& change, ShardIndex id,
                    ReplicaIndex demoting) {
  const Replica& replica = state.tables.replica(demoting);
  const bool gone = IsGone(state.tables.server(replica.server));
  const bool called_off = IsCalledOff(state, replica);  // else it fails, for whatever reason
  const bool goes_on = replica.failures < kMostFailures && !called_off;
  if (!gone && replica.contact != Contact::kDone && goes_on) return;
  const ReplicaIndex next = BestSecondary(state, id, /*in_step=*/true);
  const bool stopped = gone || replica.contact == Contact::kDone;
  if (!gone && (!stopped || !next.valid())) {
    // In another life it has nothing: one that has everything, and has not said yet that it serves,
    // is waited for.
    if (!next.valid() && !IsCurrent(state, replica) && IsMemberAwaited(state, id)) {
      return AwaitSuccessor(state, change, id);
    }
    // Called off; unless it is to lose its role because it is not fit for it, and another one is
    // there.
    const bool stays =
        IsCurrent(state, replica) || !BestSecondary(state, id, /*in_step=*/false).valid();
    change.phases.push_back({.replica = demoting,
                             .to = stays ? Phase::kGranted : Phase::kDropping,
                             .failed = stays && called_off});
    return;
  }
  PassRole(state, change, demoting, gone, next);
}

// Its server could not add it for as long as a lost server is waited for, and nobody is in step:
// as after a loss, one that may lack something is better than none. (Not if the server holds the
// shard as a secondary that was in step: then it has everything.)
bool IsHopeless(const PartitionState& state, ShardIndex id, const Replica& primary) {
  const auto trouble = state.failures.troubles.find(Key(id, primary.server));
  const Duration patience = Milliseconds(state.spec.failover().delay_ms());
  const bool long_ago =
      trouble != state.failures.troubles.end() && state.now >= trouble->second.since + patience;
  const bool has_everything = primary.role_changed && !primary.lacking;
  return long_ago && !has_everything && !IsMemberAwaited(state, id) &&
         BestSecondary(state, id, /*in_step=*/false).valid();
}

// Of a shard whose primary has the right to serve.
void DecidePrimary(const PartitionState& state, Change& change, ShardIndex id,
                   ReplicaIndex primary) {
  const Replica& replica = state.tables.replica(primary);
  const Server& server = state.tables.server(replica.server);
  if (IsGone(server)) {
    if (PlacesNothing(state)) return;
    ReplicaIndex next = BestSecondary(state, id, /*in_step=*/true);
    const bool last_resort = IsGivenUp(server) && !IsMemberAwaited(state, id);
    if (!next.valid() && last_resort) next = BestSecondary(state, id, /*in_step=*/false);
    if (!next.valid()) return AwaitSuccessor(state, change, id);
    return PassRole(state, change, primary, /*gone=*/true, next);
  }
  if (server.state != ServerState::kLive) return;  // it came back during a failover
  const bool other = BestSecondary(state, id, /*in_step=*/true).valid();
  if (!IsCurrent(state, replica)) {
    // It came back in another life: one that never left is the better primary.
    if (other) return DecideSwitchover(state, change, id, primary);
    if (IsMemberAwaited(state, id)) return AwaitSuccessor(state, change, id);
    change.phases.push_back({primary, Phase::kGranted, RoleChange::kNone, server.life()});
    return;
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
  if (Serves(state, replica) && MayMove(state, id) && !StaysPut(state, id) &&
      WantsOtherPrimary(state, id, replica)) {
    DecideSwitchover(state, change, id, primary);
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
  bool awaited = IsMemberAwaited(state, id);
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    const Server& server = state.tables.server(replica.server);
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
  if (demoting.valid()) return DecideDemotion(state, change, id, demoting);
  if (primary.valid()) return DecidePrimary(state, change, id, primary);
  if (other_right) return;
  ReplicaIndex chosen = BestSecondary(state, id, /*in_step=*/true);
  if (!chosen.valid() && !awaited) chosen = BestSecondary(state, id, /*in_step=*/false);
  if (!chosen.valid()) return AwaitSuccessor(state, change, id);
  change.phases.push_back({chosen, Phase::kGranted, RoleChange::kPromote});
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
    return std::tuple(hint == state.switchovers.to.end() || hint->second != replica.server,
                      server.sheds_primaries, server.planned.closed,
                      server.region != state.tables.shard(id).region, server.primaries,
                      replica.server);
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
    return std::pair(s.sheds_primaries, region != 0 && s.region != region);
  };
  return rank(state.tables.replica(best).server) < rank(primary.server);
}

}  // namespace shardmanager::orchestrator
