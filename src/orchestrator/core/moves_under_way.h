// Moves and failovers that count against budgets, from the write that makes the new replica until
// that one serves, or is gone; and shards that wait for room among failovers.
#pragma once

#include "orchestrator/core/agenda.h"
#include "orchestrator/core/publication.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class MovesUnderWay {
 public:
  MovesUnderWay(PartitionState& state, Agenda& agenda, Publication& publication)
      : state_(state), agenda_(agenda), publication_(publication) {}

  // What was counted as under way for this replica is not any more: it serves, or it
  // is gone.
  void Settle(ReplicaIndex id);
  // Handovers that a former leader began count as what they are, up to the end: while the old owner
  // drops and the new one does not serve yet, that one may have to give the shard back
  // (decide/failures.h).
  void RecoverMoves();
  // Until NextFailover.
  void AwaitFailover(ShardIndex shard);

 private:
  void NextFailover();

  PartitionState& state_;
  Agenda& agenda_;
  Publication& publication_;
  std::deque<ShardIndex> budget_waiters_;
};

}  // namespace shardmanager::orchestrator
