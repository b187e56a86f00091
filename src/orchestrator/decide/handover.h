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
// read (decide/unread.h). Only the newest one goes on: to the first one nothing was forwarded, and
// it must have stopped before the shard is granted.
//
// If the old one says that it cannot let go, as requests in flight take too long, it has forwarded
// nothing and never will to this new owner: the new one ends, and it serves on under its grant.
#pragma once

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

struct Handover {
  ReplicaIndex from;      // granted or forwarding; invalid: it is lost, or lets go
  ReplicaIndex to;        // preparing; invalid: no handover is under way
  ReplicaIndex last;      // dropping
  ReplicaIndex outdated;  // preparing, for an earlier handover; or invalid
};

Handover HandoverOf(const PartitionState& state, ShardIndex id);
// Adds to `change` what brings a handover that is under way one step on.
void DecideHandover(const PartitionState& state, Change& change, ShardIndex id);
// A move in which the old owner stops first, and has said that it cannot: it was called off. If two
// are to stop, as after the end of an app that is made again, one of them must have stopped.
void DecideToStay(const PartitionState& state, Change& change, ShardIndex id);
// Its server serves on under its grant: requests in flight took too long for it to let go, or to
// be a secondary. Only for another server is it to be left there; what is to end is asked to end
// again.
bool IsCalledOff(const PartitionState& state, const Replica& old_owner);
// The epoch under which its server serves on, if that has called the demotion off and says so.
// Else 0.
ShardEpoch ServesOnUnder(const PartitionState& state, const Replica& demoting);
// The old owner goes on forwarding until the new one serves all.
bool StillForwards(const PartitionState& state, const Replica& replica);
// The other party of a handover, for a command to one of them.
ReplicaIndex OtherOf(const PartitionState& state, const Replica& replica);

}  // namespace shardmanager::orchestrator
