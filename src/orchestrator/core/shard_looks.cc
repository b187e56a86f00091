#include "orchestrator/core/shard_looks.h"

#include "orchestrator/decide/census.h"
#include "orchestrator/decide/failover.h"
#include "orchestrator/decide/next_step.h"
#include "orchestrator/decide/unread.h"

namespace shardmanager::orchestrator {

void ShardLooks::Look(ShardIndex id) {
  const Change change = Decide(id);
  if (!change.empty()) agenda_.WantWrite(id);

  Shard& shard = state_.tables.shard(id);
  const bool at_rest = !shard.in_batch && change.empty();
  if (at_rest) state_.moves.intents.erase(id);  // they came too late
  bool lacks = false;
  if (at_rest && shard.wanted > 0 && !HeldBack(state_, id)) {
    const Census census = Count(state_, change, id);
    lacks = census.healthy < shard.wanted;
    const bool failover = lacks && !census.lost.empty();
    if (failover && FailoverWait(state_, id)) {
      moves_.AwaitFailover(id);
      lacks = false;
    }
  }
  if (lacks && !std::exchange(shard.missing, true)) state_.missing.Add(id);
  if (!lacks) {
    shard.missing = false;
    state_.missing.Forget(id);
    if (!state_.failures.failed_at.empty() && change.empty()) failed_shards_.ForgetFailedMove(id);
  }
  commander_.Command(id);
}

Change ShardLooks::Decide(ShardIndex id) {
  if (state_.tables.shard(id).in_batch || HeldBack(state_, id)) return {};
  const bool waited = state_.switchovers.waiters.erase(id) > 0;
  Change change = NextStep(state_, id);
  if (change.Awaits(WaitReason::kSwitchoverBudget)) {
    state_.switchovers.waiters.insert(id);
  } else if (waited) {
    switchovers_.WakeWaiter();
  }
  return change;
}

}  // namespace shardmanager::orchestrator
