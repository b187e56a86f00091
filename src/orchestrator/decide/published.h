// Where clients find a shard.
#pragma once

#include <vector>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// A replica that clients should use now, and what as.
struct Published {
  ReplicaIndex replica;
  Role role;
};

// Ascending by server.
std::vector<Published> PublishedReplicas(const PartitionState& state, ShardIndex shard);

}  // namespace shardmanager::orchestrator
