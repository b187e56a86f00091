#include "orchestrator/decide/census.h"

#include <algorithm>

#include "orchestrator/decide/members.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// Nobody who is there now has everything that was acknowledged, and this replica may have it.
bool MayBeTheLast(const PartitionState& state, const Replica& replica) {
  const ReplicationRules& rules = state.replication;
  if (!rules.both_roles() || rules.quorum) return false;
  if (replica.role != Role::kPrimary && replica.member_life == 0) return false;
  bool others = false;
  state.tables.ForEach(replica.shard, [&](ReplicaIndex, const Replica& other) {
    others |= other.server != replica.server && other.phase == Phase::kGranted &&
              IsCurrent(state, other) && !IsGone(state.tables.server(other.server));
  });
  return !others;
}

}  // namespace

bool IsReplicaGivenUp(const PartitionState& state, const Replica& replica) {
  const Server& server = state.tables.server(replica.server);
  return IsGivenUp(server) && (IsLastResort(state, server) || !MayBeTheLast(state, replica));
}

Census Count(const PartitionState& state, const Change& change, ShardIndex id) {
  Census census;
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    const bool hands_over =
        replica.phase == Phase::kPreparing || replica.phase == Phase::kForwarding;
    census.primary_right |= hands_over;
    if (IsEnding(change, r)) {
      census.moving |= replica.phase == Phase::kGranted;  // on its way to dropping
      census.primary_right |= replica.phase == Phase::kGranted && replica.role == Role::kPrimary;
      return;
    }
    const bool given_up = IsReplicaGivenUp(state, replica);
    if (replica.phase == Phase::kReserved) {
      census.reserved = r;
      ++census.healthy;
    } else if (replica.phase == Phase::kDropping) {
      census.moving = true;
      census.primary_right |= replica.role == Role::kPrimary;
    } else if (replica.phase == Phase::kDemoting) {
      census.moving = true;
      census.primary_right = true;
      census.healthy += !given_up;
    } else if (hands_over) {  // the old owner counts, as long as it is there
      census.moving = true;
      census.healthy += replica.phase == Phase::kForwarding;
    } else if (replica.phase == Phase::kGranted && given_up) {
      census.lost.push_back(r);
    } else if (replica.phase == Phase::kGranted) {
      ++census.healthy;
      census.serving += ServesClients(state, replica);
      census.primary_right |= replica.role == Role::kPrimary;
    }
  });
  return census;
}

Role RoleOfNew(const PartitionState& state, const Change& change, ShardIndex id,
               const Census& census) {
  if (!state.replication.both_roles()) return state.replication.RoleToAdd();
  bool others = census.primary_right;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const bool there = replica.phase == Phase::kGranted && !IsReplicaGivenUp(state, replica);
    others |= there || !MayLeave(state, change, replica);
  });
  return others ? Role::kSecondary : Role::kPrimary;
}

bool IsEnding(const Change& change, ReplicaIndex id) {
  return std::any_of(change.phases.begin(), change.phases.end(), [&](const PhaseChange& c) {
    return c.replica == id && (c.to == Phase::kAbsent || c.to == Phase::kDropping);
  });
}

}  // namespace shardmanager::orchestrator
