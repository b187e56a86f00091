// What of an app is as it should be, counted: for metrics and `shardctl status`. Reading only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// What clients meet of one shard.
struct Service {
  uint32_t wanted = 0;   // replicas
  uint32_t least = 0;    // of those, not for its load
  uint32_t serving = 0;  // in any role
  bool served = false;   // where shards have a primary: it serves
  bool degraded() const { return serving < least; }
  bool lacks_primary() const { return !served && serving > 0; }
  // As ShardStatus.state.
  const char* state() const { return !served ? "unserved" : degraded() ? "degraded" : "serving"; }
};
Service ServiceOf(const PartitionState& state, ShardIndex shard);

struct Health {
  v1::AppHealth counts;  // without longest_unserved_ms
  uint32_t replicas_wanted = 0;
  uint32_t replicas_serving = 0;
  std::vector<ShardIndex> unserved;
};
// Looks at every shard and every server.
Health HealthOf(const PartitionState& state);

// The first `most` shards that are unserved, then degraded ones, in the order of the map.
std::vector<v1::ShardTrouble> TroublesOf(const PartitionState& state, size_t most);

}  // namespace shardmanager::orchestrator
