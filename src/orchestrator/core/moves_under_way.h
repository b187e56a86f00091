// Moves and failovers that count against budgets, from the write that makes the new replica until
// that one serves, or is gone; and shards that wait for room among failovers.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "absl/container/flat_hash_map.h"
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
  // The shard's replica on the server is gone.
  void NoteLeft(ShardIndex shard, ServerIndex server);
  // Handovers that a former leader began count as what they are, up to the end: while the old owner
  // drops and the new one does not serve yet, that one may have to give the shard back
  // (decide/failures.h).
  void RecoverMoves();
  // Until another failover has ended, or WakeWaiters.
  void AwaitFailover(ShardIndex shard);
  // The limits, or the ranks, are others now.
  void WakeWaiters();
  // Some of those that wait, if no failover is under way that could wake them.
  void WakeIfIdle();

 private:
  void NextFailover();
  void WakeFirst();

  PartitionState& state_;
  Agenda& agenda_;
  Publication& publication_;
  absl::flat_hash_map<ShardIndex, uint32_t> rank_of_waiter_;  // FailoverRank when it was seen last
  // By rank. One whose rank was lower later is found here twice, and counts where that is its rank.
  std::map<uint32_t, std::deque<ShardIndex>> waiters_;
};

}  // namespace shardmanager::orchestrator
