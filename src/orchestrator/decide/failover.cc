#include "orchestrator/decide/failover.h"

#include <algorithm>

#include "orchestrator/decide/census.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/room.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {

uint32_t FailoversLeft(const PartitionState& state, ShardIndex id) {
  uint32_t here = 0;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    here += replica.cause == Cause::kFailover && !replica.settled;
  });
  return std::min(RoomLeft(state.spec.failover().max_concurrent_per_shard(), here),
                  state.moves.budgets.Room(Cause::kFailover));
}

bool AnyServerTakesFailovers(const PartitionState& state) {
  if (state.moves.budgets.limits(Cause::kFailover).per_server == 0) return true;
  for (const ServerIndex id : state.tables.servers()) {
    const bool open = state.tables.server(id).state == ServerState::kLive && Accepts(state, id) &&
                      !IsBarred(state, id);
    if (open && state.moves.budgets.Left(Cause::kFailover, id)) return true;
  }
  return false;
}

std::optional<Wait> FailoverWait(const PartitionState& state, ShardIndex id) {
  const Budgets& budgets = state.moves.budgets;
  if (!budgets.Left(Cause::kFailover)) {
    return Wait{.reason = WaitReason::kFailoverBudget,
                .count = budgets.under_way(Cause::kFailover),
                .limit = budgets.limits(Cause::kFailover).total};
  }
  if (FailoversLeft(state, id) == 0) return Wait{WaitReason::kFailoverBudgetOfShard};
  if (!AnyServerTakesFailovers(state)) return Wait{WaitReason::kFailoverBudgetOfServers};
  return std::nullopt;
}

uint32_t FailoverRank(const PartitionState& state, ShardIndex id) {
  const auto regions = static_cast<uint32_t>(state.regions.order.size());
  uint32_t rank = regions;  // of the region
  bool served = false;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    served |= ServesClients(state, replica);
    const Server& server = state.tables.server(replica.server);
    if (replica.phase != Phase::kGranted || !IsGivenUp(server)) return;
    const auto at =
        std::find(state.regions.order.begin(), state.regions.order.end(), server.region);
    rank = std::min(rank, static_cast<uint32_t>(at - state.regions.order.begin()));
  });
  return served ? rank + regions + 1 : rank;
}

bool HoldsBalance(const PartitionState& state) {
  return state.mass_failure.on || OnlyBalanceIsPaused(state);
}

bool HoldsMove(const PartitionState& state, ServerIndex from) {
  return HoldsBalance(state) && CauseOfMove(state, from) == Cause::kBalance;
}

bool IsLostByFailure(const Server& server) {
  return server.state == ServerState::kLost && !server.replicas.empty() &&
         server.planned.away_until <= server.lost_at && !server.record_unread;
}

LostServers CountLost(const PartitionState& state) {
  LostServers count;
  for (const ServerIndex id : state.tables.servers()) {
    const Server& server = state.tables.server(id);
    const bool lost = IsLostByFailure(server);
    count.lost += lost;
    count.all += lost || server.state == ServerState::kLive;
  }
  return count;
}

}  // namespace shardmanager::orchestrator
