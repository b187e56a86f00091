#include "orchestrator/core/moves_under_way.h"

#include "orchestrator/decide/handover.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {

void MovesUnderWay::Settle(ReplicaIndex id) {
  Replica& replica = state_.tables.replica(id);
  if (std::exchange(replica.settled, true)) return;
  state_.moves.budgets.Give(replica);
  if (IsMove(replica.cause)) {
    if (state_.moves.budgets.under_way(replica.cause) == 0) agenda_.LookAtBalance();
    // A plan that was made meanwhile found the budget of its servers used up.
    state_.balance.at_rest = false;
  }
  if (replica.cause == Cause::kFailover) {
    if (--state_.tables.server(replica.origin).failover_pending == 0) {
      publication_.FailoverFinished(replica.origin);
    }
    state_.missing.MayHelp(Help::kAny);  // its target may take the next one
    NextFailover();
  }
}

void MovesUnderWay::RecoverMoves() {
  for (uint32_t i = 0; i < state_.tables.shard_count(); ++i) {
    const Handover handover = HandoverOf(state_, ShardIndex(i));
    const bool prepares = handover.to.valid();
    const ReplicaIndex old_owner = prepares ? handover.from : handover.last;
    const ReplicaIndex new_owner = prepares ? handover.to : handover.from;
    if (!old_owner.valid() || !new_owner.valid()) continue;
    Replica& to = state_.tables.replica(new_owner);
    // Nothing comes of it.
    if (state_.tables.server(to.server).state != ServerState::kLive) continue;
    to.origin = state_.tables.replica(old_owner).server;
    to.cause = CauseOfMove(state_, to.origin);
    to.settled = false;
    state_.moves.budgets.Take(to);
  }
}

void MovesUnderWay::AwaitFailover(ShardIndex id) {
  if (std::exchange(state_.tables.shard(id).waits_for_budget, true)) return;
  budget_waiters_.push_back(id);
}

// One has ended. After the last one, all that wait are looked at: it may be that those woken
// before had found what they lacked, and used no room.
void MovesUnderWay::NextFailover() {
  size_t woken = state_.moves.budgets.under_way(Cause::kFailover) == 0 ? budget_waiters_.size() : 1;
  for (; woken > 0 && !budget_waiters_.empty(); --woken) {
    const ShardIndex id = budget_waiters_.front();
    budget_waiters_.pop_front();
    state_.tables.shard(id).waits_for_budget = false;
    agenda_.MarkDirty(id);
  }
}

}  // namespace shardmanager::orchestrator
