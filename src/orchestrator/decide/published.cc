#include "orchestrator/decide/published.h"

#include <algorithm>

#include "orchestrator/decide/handover.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// Until the new primary serves, clients are sent to the old one, which sends them on.
void AddStandIn(const PartitionState& state, ShardIndex shard, std::vector<Published>& chosen) {
  const auto is_primary = [](const Published& p) { return p.role == Role::kPrimary; };
  if (std::any_of(chosen.begin(), chosen.end(), is_primary)) return;
  const auto found = state.switchovers.stand_in.find(shard);
  state.tables.ForEach(shard, [&](ReplicaIndex id, const Replica& replica) {
    const bool was = found != state.switchovers.stand_in.end() && found->second == replica.server &&
                     replica.phase == Phase::kGranted;
    if (!was && replica.phase != Phase::kDemoting) return;
    if (state.tables.server(replica.server).state != ServerState::kLive) return;
    std::erase_if(chosen, [&](const Published& p) { return p.replica == id; });
    chosen.push_back({id, Role::kPrimary});
  });
}

}  // namespace

std::vector<Published> PublishedReplicas(const PartitionState& state, ShardIndex shard) {
  std::vector<ReplicaIndex> serving;
  std::vector<ReplicaIndex> forwarding;
  std::vector<ReplicaIndex> perhaps;
  state.tables.ForEach(shard, [&](ReplicaIndex id, const Replica& replica) {
    if (ServesClients(state, replica)) {
      serving.push_back(id);
    }
    // The old owner of a handover takes what comes, until the new one is in the map.
    if (StillForwards(state, replica) &&
        state.tables.server(replica.server).state == ServerState::kLive) {
      forwarding.push_back(id);
    }
    // A server that only the store lost sight of may serve on (a whole fleet can be
    // "lost" by a hiccup of the store): better than no address at all.
    const Server& server = state.tables.server(replica.server);
    if (replica.phase == Phase::kGranted && server.state == ServerState::kLost &&
        !server.location.endpoint.empty()) {  // empty: lost before this leader came
      perhaps.push_back(id);
    }
  });
  std::vector<Published> chosen;
  for (ReplicaIndex id : !serving.empty() ? serving : !forwarding.empty() ? forwarding : perhaps) {
    chosen.push_back({id, state.tables.replica(id).role});
  }
  if (state.replication.both_roles()) AddStandIn(state, shard, chosen);
  std::sort(chosen.begin(), chosen.end(), [&](const Published& a, const Published& b) {
    return state.tables.replica(a.replica).server < state.tables.replica(b.replica).server;
  });
  return chosen;
}

}  // namespace shardmanager::orchestrator
