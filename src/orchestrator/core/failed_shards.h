// What follows when a server cannot add a shard. What is decided then: decide/failures.h.
#pragma once

#include "orchestrator/core/agenda.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class FailedShards {
 public:
  FailedShards(PartitionState& state, Agenda& agenda) : state_(state), agenda_(agenda) {}

  // Its server gives it up. (Once more, if the write of that did not succeed.)
  void NoteFailedAt(const Replica& replica);
  // Its server has failed to add it once more.
  void NotePoison(ReplicaIndex id);
  // It has stayed long enough. Only its last server counts as one where it failed.
  void TryElsewhere(ShardIndex shard);
  // No other server has room for it: those that failed are better than none, unless that would
  // take a poison shard from where it stays.
  void AllowFailed(ShardIndex shard);
  // A move of it failed, and it is as whole as before: for how long it is not moved there again
  // is for MoveHolds to say.
  void ForgetFailedMove(ShardIndex shard);
  // It serves, or all servers are to be tried anew.
  void ForgetPoison(ShardIndex shard);
  // Nothing that has failed keeps it from going anywhere.
  void ForgetAll(ShardIndex shard);
  // A move of it could not be carried out.
  void HoldMoves(ShardIndex shard, ServerIndex avoid);

 private:
  PartitionState& state_;
  Agenda& agenda_;
};

}  // namespace shardmanager::orchestrator
