// Which replica of a shard gets a request.
#pragma once

#include <cstdint>
#include <string_view>

#include "router/shard_map.h"

namespace shardmanager::router {

struct ReplicaPreference {
  // Near servers are better. Empty: no preference.
  std::string_view region;
  // The server that just failed us: only when there is no other. Empty: none did.
  std::string_view avoid;
  // A secondary will do, also where there is a primary.
  bool any_replica = false;
  // Any number: spreads requests evenly.
  uint64_t random = 0;
};

// The primary, if there is one. Where shards have none, or with `any_replica`: any of the
// replicas in the region, else any. Null: nobody serves the shard. No allocation.
const MappedReplica* ChooseReplica(const ShardMap& map, ShardIndex shard,
                                   const ReplicaPreference& preference);

}  // namespace shardmanager::router
