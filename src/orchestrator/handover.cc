// The graceful move of a primary (DESIGN: the right to serve), from durable phases alone:
//
//   old owner   new owner   what the servers are asked          what makes it go on
//   granted     preparing   new: get ready                      it is ready
//   forwarding  preparing   old: let go, then forward           it forwards
//   dropping    granted     new: serve all; then old: forget    it has forgotten
//
// While the old owner forwards it is still the one that clients are sent to. Whoever is
// lost on the way, what stands in the records says how to go on:
//   * the old owner: the new one has the shard, without a failover's delay;
//   * the new one, before the old one was told to let go: nothing has happened;
//   * the new one, later: the old one stops, for the new one may have processed what it
//     forwarded, and the shard is placed anew.
#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {

bool Partition::MovesByHandover() const {
  return !HasSecondaries() && spec_.moves().primary_move() != v1::DROP_THEN_ADD;
}

Partition::Handover Partition::HandoverOf(ShardIndex id) const {
  Handover handover;
  tables_.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (replica.role != Role::kPrimary) return;
    if (replica.phase == Phase::kPreparing) handover.to = r;
    if (replica.phase == Phase::kGranted || replica.phase == Phase::kForwarding) handover.from = r;
    if (replica.phase == Phase::kDropping) handover.last = r;
  });
  return handover;
}

// Adds to change_ what brings a handover that is under way one step on.
void Partition::DecideHandover(ShardIndex id) {
  const Handover handover = HandoverOf(id);
  const auto change = [this](ReplicaIndex r, Phase to) { change_.phases.push_back({r, to}); };
  const auto gone = [this](ReplicaIndex r) {
    return IsGone(tables_.server(tables_.replica(r).server));
  };
  const bool forwards =
      handover.from.valid() && tables_.replica(handover.from).phase == Phase::kForwarding;
  if (!handover.to.valid() || gone(handover.to)) {
    if (handover.to.valid()) change(handover.to, Phase::kAbsent);
    if (forwards) change(handover.from, gone(handover.from) ? Phase::kAbsent : Phase::kDropping);
    return;
  }
  const Replica& to = tables_.replica(handover.to);
  if (!handover.from.valid()) {
    if (!handover.last.valid()) change(handover.to, Phase::kGranted);
  } else if (gone(handover.from)) {
    change(handover.from, Phase::kAbsent);
    change(handover.to, Phase::kGranted);
  } else if (!forwards) {
    const bool sick = quarantine_.IsSick(to.server) && now_ < quarantine_.Find(to.server)->trial_at;
    if (to.failures >= kMostFailures || sick) {
      change_.phases.push_back({.replica = handover.to, .to = Phase::kDropping, .failed = true});
    } else if (to.contact == Contact::kDone) {
      change(handover.from, Phase::kForwarding);
    }
  } else if (tables_.replica(handover.from).contact == Contact::kDone) {
    change(handover.from, Phase::kDropping);
    change(handover.to, Phase::kGranted);
  }
}

// The old owner goes on forwarding until the new one serves all.
bool Partition::StillForwards(const Replica& replica) const {
  if (replica.role != Role::kPrimary) return false;
  if (replica.phase == Phase::kForwarding) return true;
  if (replica.phase != Phase::kDropping || replica.contact == Contact::kDone) return false;
  bool awaited = false;
  tables_.ForEach(replica.shard, [&](ReplicaIndex, const Replica& other) {
    awaited |= other.phase == Phase::kGranted && other.role == Role::kPrimary && !Serves(other) &&
               tables_.server(other.server).state == ServerState::kLive;
  });
  return awaited;
}

// The other party of a handover, for a command to one of them.
ReplicaIndex Partition::OtherOf(const Replica& replica) const {
  const Handover handover = HandoverOf(replica.shard);
  return replica.phase == Phase::kPreparing ? handover.from : handover.to;
}

}  // namespace shardmanager::orchestrator
