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

bool Accepts(const PartitionState& state, ServerIndex id) {
  return !state.tables.server(id).draining && RegionAllowed(state, id);
}

bool TakesReplicas(const PartitionState& state, ServerIndex id) {
  const Server& server = state.tables.server(id);
  return server.state == ServerState::kLive && Accepts(state, id) && !server.planned.closed &&
         !TakesNothing(server) && !IsBarred(state, id);
}

bool RegionAllowed(const PartitionState& state, ServerIndex id) {
  const uint32_t region = state.tables.server(id).region;
  return state.regions.allowed.empty() ||
         (region < state.regions.allowed.size() && state.regions.allowed[region]);
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
