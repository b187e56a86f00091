#include "orchestrator/describe/health.h"

#include <algorithm>

#include "base/defect.h"
#include "orchestrator/decide/load/scaling.h"
#include "orchestrator/decide/view.h"
#include "orchestrator/describe/servers.h"
#include "orchestrator/describe/status.h"

namespace shardmanager::orchestrator {
namespace {

void CountServer(const PartitionState& state, ServerIndex id, v1::AppHealth& counts) {
  const Server& server = state.tables.server(id);
  if (server.state == ServerState::kLost && !IsFailedOver(server)) {
    return counts.set_servers_lost(counts.servers_lost() + 1);
  }
  if (server.state != ServerState::kLive) {
    if (IsListed(state, server)) counts.set_servers_away(counts.servers_away() + 1);
    return;
  }
  switch (DrainStageOf(state, id)) {
    case DrainStage::kStuck:
      counts.set_servers_draining_stuck(counts.servers_draining_stuck() + 1);
      [[fallthrough]];
    case DrainStage::kUnderWay:
      return counts.set_servers_draining(counts.servers_draining() + 1);
    case DrainStage::kEmpty:
      return counts.set_servers_drained(counts.servers_drained() + 1);
    case DrainStage::kNone:
      break;
  }
  if (IsQuarantined(state, id)) {
    return counts.set_servers_quarantined(counts.servers_quarantined() + 1);
  }
  counts.set_servers_live(counts.servers_live() + 1);
}

}  // namespace

Service ServiceOf(const PartitionState& state, ShardIndex shard) {
  Service service{.wanted = state.tables.shard(shard).wanted, .least = LeastReplicas(state, shard)};
  bool primary = false;
  state.tables.ForEach(shard, [&](ReplicaIndex, const Replica& replica) {
    const bool serves = ServesClients(state, replica);
    if (!serves && !Planted(Defect::kShowsGreen)) return;
    ++service.serving;
    primary |= replica.role == Role::kPrimary;
  });
  service.served = state.replication.both_roles() ? primary : service.serving > 0;
  return service;
}

Health HealthOf(const PartitionState& state) {
  Health health;
  uint32_t without_primary = 0, below = 0, poisoned = 0, waiting = 0;
  for (const ShardIndex shard : state.map_order) {
    const Service service = ServiceOf(state, shard);
    health.replicas_wanted += service.wanted;
    health.replicas_serving += service.serving;
    if (!service.served) health.unserved.push_back(shard);
    without_primary += service.lacks_primary();
    below += service.served && service.degraded();
    poisoned += state.tables.shard(shard).poisoned;
    waiting += state.tables.shard(shard).missing;
  }
  v1::AppHealth& counts = health.counts;
  counts.set_shards_unserved(static_cast<uint32_t>(health.unserved.size()));
  counts.set_shards_without_primary(without_primary);
  counts.set_shards_below_replicas(below);
  counts.set_shards_poisoned(poisoned);
  counts.set_shards_waiting_for_place(waiting);
  for (const ServerIndex id : state.tables.servers()) CountServer(state, id, counts);
  const Budgets& under_way = state.moves.budgets;
  counts.set_placements_under_way(under_way.under_way(Cause::kPlacement));
  counts.set_failovers_under_way(under_way.under_way(Cause::kFailover));
  counts.set_balance_moves_under_way(under_way.under_way(Cause::kBalance));
  counts.set_drain_moves_under_way(under_way.under_way(Cause::kDrain));
  return health;
}

std::vector<v1::ShardTrouble> TroublesOf(const PartitionState& state, size_t most) {
  std::vector<size_t> unserved, degraded;
  for (size_t i = 0; i < state.map_order.size() && unserved.size() < most; ++i) {
    const Service service = ServiceOf(state, state.map_order[i]);
    if (!service.served) {
      unserved.push_back(i);
    } else if (service.degraded() && degraded.size() < most) {
      degraded.push_back(i);
    }
  }
  unserved.insert(unserved.end(), degraded.begin(), degraded.end());
  unserved.resize(std::min(most, unserved.size()));
  std::vector<v1::ShardTrouble> troubles;
  for (const size_t i : unserved) {
    const v1::ShardStatus status = DescribeShard(state, i);
    v1::ShardTrouble& trouble = troubles.emplace_back();
    trouble.set_shard(status.shard());
    trouble.set_state(status.state());
    trouble.set_reason(status.reason());
  }
  return troubles;
}

}  // namespace shardmanager::orchestrator
