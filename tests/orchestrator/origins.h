// In the world of a partition: shards that were made of others.
#pragma once

#include <set>
#include <string>

#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {

// Of a new shard: in step is whoever was in step with all that it is made of.
inline void InheritMembers(World& world, const std::string& shard,
                           const std::set<std::string>& origins) {
  World::Members in_step = world.members[*origins.begin()];
  for (const std::string& from : origins) {
    const World::Members& of_this = world.members[from];
    std::erase_if(in_step, [&](const auto& member) { return !of_this.contains(member); });
    if (world.reachable.contains(from)) world.reachable.insert(shard);
    if (world.unclean.contains(from)) world.unclean.insert(shard);
  }
  if (!in_step.empty()) world.members[shard] = in_step;
}

// What the shard was made of, as the grant has it. The world remembers it.
inline std::set<std::string> OriginsOf(World& world, const Grant& grant) {
  std::set<std::string> origins;
  for (const ShardIndex from : grant.made_of) origins.insert(world.Name(from));
  if (origins.empty()) return origins;
  const auto [known, fresh] = world.watcher.origins.emplace(world.Name(grant.shard), origins);
  if (fresh) InheritMembers(world, known->first, origins);
  return origins;
}

// They are let go first, as servers have it; true: one cannot be.
inline bool HoldsAny(World::AppServer& server, const std::set<std::string>& shards) {
  for (const std::string& shard : shards) {
    if (server.cannot_let_go && server.held.contains(shard)) return true;
    server.held.erase(shard);
  }
  return false;
}

}  // namespace shardmanager::orchestrator
