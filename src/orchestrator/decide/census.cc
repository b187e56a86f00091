#include "orchestrator/decide/census.h"

#include <algorithm>

#include "orchestrator/decide/members.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {

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
    const bool given_up = IsGivenUp(state.tables.server(replica.server));
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
    const bool there =
        replica.phase == Phase::kGranted && !IsGivenUp(state.tables.server(replica.server));
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
