// Whether one more move, or one more failover, may begin now.
#include <algorithm>

#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {

Cause Partition::CauseOfMove(ServerIndex from) const {
  return tables_.server(from).draining ? Cause::kDrain : Cause::kBalance;
}

Cause Partition::CauseOfTurn(ServerIndex from) const {
  return tables_.server(from).sheds_primaries ? Cause::kDrain : Cause::kBalance;
}

bool Partition::MoveBudgetLeft(Cause cause, const Intent& intent) const {
  return budgets_.Left(cause) && budgets_.Left(cause, intent.from) &&
         budgets_.Left(cause, intent.to);
}

// How many replicas of the shard may be restored beside those that are being restored.
uint32_t Partition::FailoversLeft(ShardIndex id) const {
  uint32_t here = 0;
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    here += replica.cause == Cause::kFailover && !replica.settled;
  });
  return std::min(RoomLeft(spec_.failover().max_concurrent_per_shard(), here),
                  budgets_.Room(Cause::kFailover));
}

bool Partition::AnyServerTakesFailovers() const {
  if (budgets_.limits(Cause::kFailover).per_server == 0) return true;
  for (uint32_t i = 0; i < tables_.server_count(); ++i) {
    const ServerIndex id(i);
    const bool open =
        tables_.server(id).state == ServerState::kLive && Accepts(id) && !IsBarred(id);
    if (open && budgets_.Left(Cause::kFailover, id)) return true;
  }
  return false;
}

// Until NextFailover.
void Partition::AwaitFailover(ShardIndex id) {
  if (std::exchange(tables_.shard(id).waits_for_budget, true)) return;
  budget_waiters_.push_back(id);
}

// One has ended. After the last one, all that wait are looked at: it may be that those woken
// before had found what they lacked, and used no room.
void Partition::NextFailover() {
  size_t woken = budgets_.under_way(Cause::kFailover) == 0 ? budget_waiters_.size() : 1;
  for (; woken > 0 && !budget_waiters_.empty(); --woken) {
    const ShardIndex id = budget_waiters_.front();
    budget_waiters_.pop_front();
    tables_.shard(id).waits_for_budget = false;
    MarkDirty(id);
  }
}

}  // namespace shardmanager::orchestrator
