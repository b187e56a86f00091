#include "orchestrator/decide/next_step.h"

#include <algorithm>

#include "orchestrator/decide/census.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/handover.h"
#include "orchestrator/decide/keys/replacements.h"
#include "orchestrator/decide/members.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/placement.h"
#include "orchestrator/decide/roles.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// Replicas whose time is over whatever else happens.
void DecideEnds(const PartitionState& state, Change& change, ShardIndex id) {
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    const Server& server = state.tables.server(replica.server);
    switch (replica.phase) {
      case Phase::kDropping:
        if (replica.contact == Contact::kDone || IsGone(server)) {
          change.phases.push_back({r, Phase::kAbsent});
        }
        break;
      case Phase::kReserved:
        if (server.state != ServerState::kLive) change.phases.push_back({r, Phase::kAbsent});
        break;
      case Phase::kGranted:
      case Phase::kPreparing:
      case Phase::kForwarding:
      case Phase::kDemoting: {
        // A change of strategy: there is no such role any more.
        if (!state.replication.Has(replica.role)) change.phases.push_back({r, Phase::kDropping});
        break;
      }
      case Phase::kAbsent:
        break;
    }
  });
}

// The shard is not in the spec any more.
void DecideRetirement(const PartitionState& state, Change& change, ShardIndex id) {
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (IsEnding(change, r)) return;
    if (replica.phase == Phase::kDropping) return;
    const bool reserved = replica.phase == Phase::kReserved;
    change.phases.push_back({r, reserved ? Phase::kAbsent : Phase::kDropping});
  });
}

void AddNextStep(const PartitionState& state, Change& change, ShardIndex id) {
  const Shard& shard = state.tables.shard(id);
  DecideEnds(state, change, id);
  if (shard.wanted == 0) return DecideRetirement(state, change, id);
  if (change.empty()) DecideHandover(state, change, id);
  if (change.empty()) DecideToStay(state, change, id);
  if (!change.phases.empty() && HandoverOf(state, id).to.valid()) return;  // one step at a time
  if (state.replication.both_roles() && change.empty()) DecideRoles(state, change, id);
  if (state.replication.both_roles() && !change.empty()) return;

  if (change.empty() && !PlacesNothing(state)) DecideOvertaken(state, change, id);
  if (change.empty()) DecideElsewhere(state, change, id);

  Census census = Count(state, change, id);
  DecideReturn(state, change, id, census);
  DecidePlacement(state, change, id, census);
  if (census.reserved.valid()) {
    if (!census.primary_right) {
      change.phases.push_back({census.reserved, Phase::kGranted});
    } else if (!census.moving) {
      // Nothing makes way for it: the move was called off.
      change.phases.push_back({census.reserved, Phase::kAbsent});
    }
  }
  if (census.healthy >= shard.wanted) {
    for (ReplicaIndex lost : census.lost) {
      const Replica& replica = state.tables.replica(lost);
      // Whoever takes its role over is told of as one that may lack something: see decide/roles.h.
      if (state.replication.both_roles() && replica.role == Role::kPrimary) continue;
      if (IsEnding(change, lost) || !MayLeave(state, change, replica)) continue;
      change.phases.push_back({lost, Phase::kAbsent});
    }
  }
  DecideSurplus(state, change, id, census);
  if (change.empty() && shard.replaced) DecideReplacement(state, change, id);
}

}  // namespace

Change NextStep(const PartitionState& state, ShardIndex id) {
  Change change;
  AddNextStep(state, change, id);
  return change;
}

bool AwaitsRecord(const PartitionState& state, const Change& change) {
  const auto waits = [&](ServerIndex server) {
    return state.records.oversize.Waits(server, state.now);
  };
  return std::any_of(
             change.phases.begin(), change.phases.end(),
             [&](const PhaseChange& c) { return waits(state.tables.replica(c.replica).server); }) ||
         std::any_of(change.news.begin(), change.news.end(),
                     [&](const NewReplica& fresh) { return waits(fresh.server); });
}

}  // namespace shardmanager::orchestrator
