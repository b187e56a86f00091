#include "taskcontroller/decide/away.h"

#include <algorithm>

#include "base/defect.h"

namespace shardmanager::taskcontroller {

Away::Away(const Policy& policy, const FleetView& view, const HeldOperations& held)
    : policy_(policy),
      view_(view),
      servers_(view.servers.size(), false),
      healthy_(view.shards.size(), 0),
      coming_back_(view.shards.size(), 0) {
  uint32_t unknown = 0;  // operations on servers that nobody knows any more
  for (const auto& [key, operation] : held) {
    if (operation.stage != HeldStage::kBegun && !operation.forced) continue;
    if (Planted(Defect::kForgetsWhatHasBegun)) continue;
    const ServerIndex id = view.Find(operation.info.server);
    unknown += !id.valid();
    if (!id.valid()) continue;
    servers_[id.index()] = true;
    for (const SeenReplica& replica : view.held(id)) ++coming_back_[replica.shard.index()];
  }
  uint32_t servers = unknown;
  for (const ServerIndex id : IdRange<ServerIndex>(view.servers.size())) {
    const SeenServer& server = view.server(id);
    const bool down = !server.live && server.end > server.begin;
    servers += server.live || down || servers_[id.index()];
    if (down || !server.trouble.empty()) servers_[id.index()] = true;
    count_ += servers_[id.index()];
    if (!servers_[id.index()]) CountReplicas(id);
  }
  count_ += unknown;
  limit_ = policy.MostServersAway(servers);
  for (const ShardIndex shard : IdRange<ShardIndex>(view.shards.size())) {
    healthy_[shard.index()] = std::min(healthy_[shard.index()], view.shards[shard.index()].wanted);
  }
}

void Away::CountReplicas(ServerIndex id) {
  for (const SeenReplica& replica : view_.held(id)) {
    healthy_[replica.shard.index()] += replica.healthy || Planted(Defect::kCountsWhatIsLoading);
  }
}

uint32_t Away::least(ShardIndex shard) const {
  const uint32_t wanted = view_.shards[shard.index()].wanted;
  return wanted - policy_.MostReplicasAway(wanted);
}

std::vector<uint32_t> Away::Room() const {
  std::vector<uint32_t> room(view_.shards.size(), 0);
  for (const ShardIndex shard : IdRange<ShardIndex>(room.size())) {
    const uint32_t there = healthy(shard);
    const uint32_t needed = least(shard);
    room[shard.index()] = there > needed ? there - needed : 0;
  }
  return room;
}

}  // namespace shardmanager::taskcontroller
