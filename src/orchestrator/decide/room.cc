#include "orchestrator/decide/room.h"

#include <algorithm>

#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/view.h"
#include "orchestrator/state/record_size.h"

namespace shardmanager::orchestrator {
bool MoveBudgetLeft(const PartitionState& state, Cause cause, const Intent& intent) {
  return state.moves.budgets.Left(cause) && state.moves.budgets.Left(cause, intent.from) &&
         state.moves.budgets.Left(cause, intent.to);
}

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

bool Accepts(const PartitionState& state, ServerIndex id) {
  return !state.tables.server(id).draining && RegionAllowed(state, id);
}

bool RegionAllowed(const PartitionState& state, ServerIndex id) {
  const uint32_t region = state.tables.server(id).region;
  return state.region_allowed.empty() ||
         (region < state.region_allowed.size() && state.region_allowed[region]);
}

uint32_t ReplicaCapacity(const PartitionState& state, ServerIndex id) {
  return TighterCap(state.tables.server(id).capacity,
                    state.spec.placement().max_replicas_per_server());
}

bool CanBeTarget(const PartitionState& state, ShardIndex shard, ServerIndex id) {
  const Server& server = state.tables.server(id);
  return server.state == ServerState::kLive && !server.draining && !server.planned.closed &&
         !TakesNothing(server) && !IsBarred(state, id) &&
         RecordTakes(state, id, ReplicaBytes(state.tables.name(shard))) &&
         !state.tables.FindReplica(shard, id).valid();
}

bool RecordTakes(const PartitionState& state, ServerIndex server, size_t bytes) {
  return state.tables.server(server).record_bytes + bytes <= kMostRecordBytes;
}

uint32_t RecordCapacity(const PartitionState& state, ServerIndex id) {
  const Server& server = state.tables.server(id);
  const auto held = static_cast<uint32_t>(server.replicas.size());
  if (state.records.most_replica_bytes == 0 || !RecordTakes(state, id, 0)) {
    return std::max(held, 1U);
  }
  const size_t more = (kMostRecordBytes - server.record_bytes) / state.records.most_replica_bytes;
  return held + static_cast<uint32_t>(more);
}

}  // namespace shardmanager::orchestrator
