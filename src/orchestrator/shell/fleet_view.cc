#include "orchestrator/shell/fleet_view.h"

#include <utility>

#include "model/pause.h"
#include "orchestrator/decide/drains.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

using taskcontroller::FleetView;
using taskcontroller::SeenReplica;
using taskcontroller::SeenServer;

// Only what is granted, and serves clients, is healthy: not what loads, nor what is on its way. (A
// replica that loads is in no transition: a restart begins the load again.)
SeenReplica ViewOf(const PartitionState& state, const Replica& replica) {
  const bool settled = replica.phase == Phase::kGranted && !replica.in_write;
  return {.shard = replica.shard,
          .role = replica.role,
          .healthy = settled && ServesClients(state, replica),
          .in_transition = !settled};
}

std::string TroubleOf(const PartitionState& state, ServerIndex id) {
  const Server& server = state.tables.server(id);
  if (server.state != ServerState::kLive) return "";
  if (TakesNothing(server)) return "one of its records cannot be read";
  if (state.failures.quarantine.IsSick(id)) return "quarantined";
  if (server.unreachable >= kMostFailures) return "commands do not get through to it";
  if (server.replicas.empty()) return "";
  if (const PlannedMaintenance* maintenance = MaintenanceOf(state, id)) {
    return MaintenanceText(maintenance->notice);
  }
  return "";
}

bool IsComplete(const PartitionState& state) {
  if (IsMapMissing(state)) return false;
  for (const ServerIndex id : state.tables.servers()) {
    const Server& server = state.tables.server(id);
    if (server.state == ServerState::kLive && !server.reported) return false;
  }
  return state.recovered;
}

}  // namespace

FleetView ViewOf(const PartitionState& state) {
  FleetView view;
  const Tables& tables = state.tables;
  view.complete = IsComplete(state);
  if (IsMapMissing(state)) view.map_missing = WhyMapIsMissing(state);
  if (MovesNothing(state)) view.closed = PauseText(*state.ordered.pause);
  if (state.deleting) view.closed = "the app is being deleted";
  view.shards.reserve(tables.shard_count());
  for (const ShardIndex id : IdRange<ShardIndex>(tables.shard_count())) {
    view.shards.push_back({tables.name(id), tables.shard(id).wanted, tables.shard(id).pinned});
  }
  view.replicas.reserve(tables.replica_count());
  view.servers.reserve(tables.server_count());
  for (const ServerIndex id : tables.servers()) {
    const Server& server = tables.server(id);
    SeenServer seen{.name = tables.name(id),
                    .incarnation = server.incarnation,
                    .live = server.state == ServerState::kLive,
                    .process = server.location.process,
                    .domain = {server.region, server.datacenter, server.rack},
                    .trouble = TroubleOf(state, id),
                    .unread = TakesNothing(server),
                    .begin = static_cast<uint32_t>(view.replicas.size())};
    for (const ReplicaIndex replica : server.replicas) {
      view.replicas.push_back(ViewOf(state, tables.replica(replica)));
    }
    seen.end = static_cast<uint32_t>(view.replicas.size());
    if (IsListed(state, server)) view.by_name.emplace(seen.name, id);
    view.servers.push_back(std::move(seen));
  }
  return view;
}

}  // namespace shardmanager::orchestrator
