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
//
// A second handover may have begun while the first one's new owner had a record that could not be
// read (unread.cc). Only the newest one goes on: to the first one nothing was forwarded, and it
// must have stopped before the shard is granted.
//
// If the old one says that it cannot let go, as requests in flight take too long, it has forwarded
// nothing and never will to this new owner: the new one ends, and it serves on under its grant.
#include "absl/strings/str_format.h"
#include "base/defect.h"
#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {

bool Partition::MovesByHandover() const {
  return !HasSecondaries() && spec_.moves().primary_move() != v1::DROP_THEN_ADD;
}

Partition::Handover Partition::HandoverOf(ShardIndex id) const {
  Handover handover;
  tables_.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (replica.role != Role::kPrimary) return;
    if (replica.phase == Phase::kPreparing) {
      const bool newer = !handover.to.valid() || replica.epoch > tables_.replica(handover.to).epoch;
      handover.outdated = newer ? handover.to : r;
      if (newer) handover.to = r;
    }
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
  if (const ReplicaIndex r = handover.outdated; r.valid()) {
    return change(r, gone(r) ? Phase::kAbsent : Phase::kDropping);
  }
  const bool forwards =
      handover.from.valid() && tables_.replica(handover.from).phase == Phase::kForwarding;
  const bool stays = forwards && IsCalledOff(tables_.replica(handover.from));
  if (!handover.to.valid() || gone(handover.to)) {
    if (handover.to.valid()) change(handover.to, Phase::kAbsent);
    if (stays) return Stay(handover.from);
    if (forwards) change(handover.from, gone(handover.from) ? Phase::kAbsent : Phase::kDropping);
    return;
  }
  const Replica& to = tables_.replica(handover.to);
  if (!handover.from.valid()) {
    if (!handover.last.valid()) change(handover.to, Phase::kGranted);
  } else if (gone(handover.from)) {
    if (handover.last.valid()) return;
    change(handover.from, Phase::kAbsent);
    change(handover.to, Phase::kGranted);
  } else if (stays) {
    change(handover.to, Phase::kDropping);
    Stay(handover.from);
  } else if (!forwards) {
    const bool sick = quarantine_.IsSick(to.server) && now_ < quarantine_.Find(to.server)->trial_at;
    if (to.failures >= kMostFailures || sick) {
      change_.phases.push_back({.replica = handover.to, .to = Phase::kDropping, .failed = true});
    } else if (to.contact == Contact::kDone) {
      change(handover.from, Phase::kForwarding);
    }
  } else if (tables_.replica(handover.from).contact == Contact::kDone && !handover.last.valid()) {
    change(handover.from, Phase::kDropping);
    change(handover.to, Phase::kGranted);
  }
}

// A move in which the old owner stops first, and has said that it cannot: it was called off. If two
// are to stop, as after the end of an app that is made again, one of them must have stopped.
void Partition::DecideToStay(ShardIndex id) {
  ReplicaIndex stays;
  ReplicaIndex reserved;
  uint32_t dropping = 0;
  tables_.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (replica.phase == Phase::kReserved) reserved = r;
    if (replica.phase == Phase::kDropping && IsCalledOff(replica)) stays = r;
    dropping += replica.phase == Phase::kDropping;
  });
  if (!stays.valid() || dropping > 1) return;
  change_.phases.push_back({reserved, Phase::kAbsent});
  Stay(stays);
}

void Partition::Stay(ReplicaIndex old_owner) {
  change_.phases.push_back({.replica = old_owner, .to = Phase::kGranted, .failed = true});
}

void Partition::NoteStays(const Replica& old_owner) {
  errors_.erase(Key(old_owner.shard, old_owner.server));
  const MoveHolds::Entry* held = move_holds_.Find(old_owner.shard, now_);
  const Duration pause = held == nullptr ? Duration(0) : held->until - now_;
  AddNote(NoteKind::kMoveCalledOff, old_owner.server, old_owner.shard,
          absl::StrFormat("it serves on here, as requests in flight did not end in time; the next "
                          "move is tried in %.0f s",
                          std::chrono::duration<double>(pause).count()));
}

// Its server serves on under its grant: requests in flight took too long for it to let go, or to
// be a secondary. Only for another server is it to be left there; what is to end is asked to end
// again.
bool Partition::IsCalledOff(const Replica& old_owner) const {
  const bool demoting = old_owner.phase == Phase::kDemoting;
  const bool lets_go =
      demoting || old_owner.phase == Phase::kForwarding || old_owner.phase == Phase::kDropping;
  if (!lets_go || old_owner.role != Role::kPrimary || old_owner.contact != Contact::kRetry) {
    return false;
  }
  const auto trouble = errors_.find(Key(old_owner.shard, old_owner.server));
  if (trouble == errors_.end() || trouble->second.outcome != CommandOutcome::kCalledOff) {
    return false;
  }
  const Phase next = old_owner.phase == Phase::kForwarding ? Phase::kPreparing : Phase::kReserved;
  bool awaited = demoting;
  tables_.ForEach(old_owner.shard,
                  [&](ReplicaIndex, const Replica& replica) { awaited |= replica.phase == next; });
  return awaited && tables_.shard(old_owner.shard).wanted > 0 && !Planted(Defect::kNeverCallsOff);
}

// The epoch under which its server serves on, if that has called the demotion off and says so.
// Else 0.
ShardEpoch Partition::ServesOnUnder(const Replica& demoting) const {
  if (!IsCalledOff(demoting) || Planted(Defect::kGrantsPrimariesAnew)) return ShardEpoch();
  const ShardEpoch epoch = errors_.at(Key(demoting.shard, demoting.server)).serving_epoch;
  return epoch < demoting.epoch ? epoch : ShardEpoch();
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
