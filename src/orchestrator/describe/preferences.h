// In which regions shards are wanted, and are.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// How many replicas of the shard serve clients in the region of this number.
uint32_t ServingIn(const PartitionState& state, ShardIndex shard, uint32_t region);
// A replica in the region that the shard prefers serves clients.
bool IsPreferenceMet(const PartitionState& state, ShardIndex shard);
// Fills in AppStatus.preferred_regions and who ordered them.
void DescribePreferences(const PartitionState& state, v1::AppStatus& status);

// Of the app: regions with fewer replicas of some shards than placement.region_replicas asks for.
std::vector<std::string> RegionConditions(const PartitionState& state);

}  // namespace shardmanager::orchestrator
