#include "tests/allocator/fleets.h"

namespace shardmanager::allocator {

Snapshot Fleet(uint32_t servers, uint32_t regions) {
  Snapshot snapshot;
  for (uint32_t i = 0; i < servers; ++i) {
    snapshot.servers.push_back(
        {.server = ServerIndex(i), .region = i % regions, .datacenter = i, .rack = i});
  }
  return snapshot;
}

void AddShards(Snapshot& snapshot, uint32_t count, uint32_t replicas) {
  for (uint32_t i = 0; i < count; ++i) {
    snapshot.shards.push_back(
        {.shard = ShardIndex(snapshot.shards.size()), .wanted_replicas = replicas});
  }
}

void Apply(Snapshot& snapshot, const Plan& plan) {
  for (const Move& move : plan.moves) {
    auto& replicas = snapshot.shards[move.shard.index()].replicas;
    std::erase_if(replicas, [&](const ReplicaInfo& r) { return r.server == move.from; });
    replicas.push_back({move.to, move.role});
  }
}

}  // namespace shardmanager::allocator
