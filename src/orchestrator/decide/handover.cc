#include "orchestrator/decide/handover.h"

#include "base/defect.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

void Stay(Change& change, ReplicaIndex old_owner) {
  change.phases.push_back({.replica = old_owner, .to = Phase::kGranted, .failed = true});
}

}  // namespace

Handover HandoverOf(const PartitionState& state, ShardIndex id) {
  Handover handover;
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (replica.role != Role::kPrimary) return;
    if (replica.phase == Phase::kPreparing) {
      const bool newer =
          !handover.to.valid() || replica.epoch > state.tables.replica(handover.to).epoch;
      handover.outdated = newer ? handover.to : r;
      if (newer) handover.to = r;
    }
    if (replica.phase == Phase::kGranted || replica.phase == Phase::kForwarding) handover.from = r;
    if (replica.phase == Phase::kDropping) handover.last = r;
  });
  return handover;
}

void DecideHandover(const PartitionState& state, Change& change, ShardIndex id) {
  const Handover handover = HandoverOf(state, id);
  const auto enter = [&](ReplicaIndex r, Phase to) { change.phases.push_back({r, to}); };
  const auto gone = [&](ReplicaIndex r) {
    return IsGone(state.tables.server(state.tables.replica(r).server));
  };
  if (const ReplicaIndex r = handover.outdated; r.valid()) {
    return enter(r, gone(r) ? Phase::kAbsent : Phase::kDropping);
  }
  const bool forwards =
      handover.from.valid() && state.tables.replica(handover.from).phase == Phase::kForwarding;
  const bool stays = forwards && IsCalledOff(state, state.tables.replica(handover.from));
  if (!handover.to.valid() || gone(handover.to)) {
    if (handover.to.valid()) enter(handover.to, Phase::kAbsent);
    if (stays) return Stay(change, handover.from);
    if (forwards) enter(handover.from, gone(handover.from) ? Phase::kAbsent : Phase::kDropping);
    return;
  }
  const Replica& to = state.tables.replica(handover.to);
  if (!handover.from.valid()) {
    if (!handover.last.valid()) enter(handover.to, Phase::kGranted);
  } else if (gone(handover.from)) {
    if (handover.last.valid()) return;
    enter(handover.from, Phase::kAbsent);
    enter(handover.to, Phase::kGranted);
  } else if (stays) {
    enter(handover.to, Phase::kDropping);
    Stay(change, handover.from);
  } else if (!forwards) {
    const bool sick = state.failures.quarantine.IsSick(to.server) &&
                      state.now < state.failures.quarantine.Find(to.server)->trial_at;
    if (to.failures >= kMostFailures || sick) {
      change.phases.push_back({.replica = handover.to, .to = Phase::kDropping, .failed = true});
    } else if (to.contact == Contact::kDone) {
      enter(handover.from, Phase::kForwarding);
    }
  } else if (state.tables.replica(handover.from).contact == Contact::kDone &&
             !handover.last.valid()) {
    enter(handover.from, Phase::kDropping);
    enter(handover.to, Phase::kGranted);
  }
}

void DecideToStay(const PartitionState& state, Change& change, ShardIndex id) {
  ReplicaIndex stays;
  ReplicaIndex reserved;
  uint32_t dropping = 0;
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (replica.phase == Phase::kReserved) reserved = r;
    if (replica.phase == Phase::kDropping && IsCalledOff(state, replica)) stays = r;
    dropping += replica.phase == Phase::kDropping;
  });
  if (!stays.valid() || dropping > 1) return;
  change.phases.push_back({reserved, Phase::kAbsent});
  Stay(change, stays);
}

bool IsCalledOff(const PartitionState& state, const Replica& old_owner) {
  const bool demoting = old_owner.phase == Phase::kDemoting;
  const bool lets_go =
      demoting || old_owner.phase == Phase::kForwarding || old_owner.phase == Phase::kDropping;
  if (!lets_go || old_owner.role != Role::kPrimary || old_owner.contact != Contact::kRetry) {
    return false;
  }
  const auto trouble = state.failures.troubles.find(Key(old_owner.shard, old_owner.server));
  if (trouble == state.failures.troubles.end() ||
      trouble->second.outcome != CommandOutcome::kCalledOff) {
    return false;
  }
  const Phase next = old_owner.phase == Phase::kForwarding ? Phase::kPreparing : Phase::kReserved;
  bool awaited = demoting;
  state.tables.ForEach(old_owner.shard, [&](ReplicaIndex, const Replica& replica) {
    awaited |= replica.phase == next;
  });
  return awaited && state.tables.shard(old_owner.shard).wanted > 0 &&
         !Planted(Defect::kNeverCallsOff);
}

ShardEpoch ServesOnUnder(const PartitionState& state, const Replica& demoting) {
  if (!IsCalledOff(state, demoting) || Planted(Defect::kGrantsPrimariesAnew)) return ShardEpoch();
  const ShardEpoch epoch =
      state.failures.troubles.at(Key(demoting.shard, demoting.server)).serving_epoch;
  return epoch < demoting.epoch ? epoch : ShardEpoch();
}

bool StillForwards(const PartitionState& state, const Replica& replica) {
  if (replica.role != Role::kPrimary) return false;
  if (replica.phase == Phase::kForwarding) return true;
  if (replica.phase != Phase::kDropping || replica.contact == Contact::kDone) return false;
  bool awaited = false;
  state.tables.ForEach(replica.shard, [&](ReplicaIndex, const Replica& other) {
    awaited |= other.phase == Phase::kGranted && other.role == Role::kPrimary &&
               !Serves(state, other) &&
               state.tables.server(other.server).state == ServerState::kLive;
  });
  return awaited;
}

ReplicaIndex OtherOf(const PartitionState& state, const Replica& replica) {
  const Handover handover = HandoverOf(state, replica.shard);
  return replica.phase == Phase::kPreparing ? handover.from : handover.to;
}

}  // namespace shardmanager::orchestrator
