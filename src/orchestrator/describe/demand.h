// Where the requests of shards come from, for people, and what follows from it.
#pragma once

#include <string>

#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// Example: "62% of the requests come from eu-west, 38% from us-east: 2 replicas are to stand in
// eu-west, 1 in us-east".
std::string SharesText(const PartitionState& state, ShardIndex id);
// REQUIRES: the app's replicas follow its requests.
v1::ShardDemand DescribeDemand(const PartitionState& state, ShardIndex id, TimePoint now);

// The region of the shard's primary, or of one replica, is wished by its requests; else by order,
// or as the spec says.
bool IsPreferredByDemand(const PartitionState& state, ShardIndex id);
// Empty: none.
std::string PreferredRegionOf(const PartitionState& state, size_t map_index);

}  // namespace shardmanager::orchestrator
