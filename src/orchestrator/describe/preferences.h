// In which regions shards are wanted, and are.
#pragma once

#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// A replica in the region that the shard prefers serves clients.
bool IsPreferenceMet(const PartitionState& state, ShardIndex shard);
// Fills in AppStatus.preferred_regions and who ordered them.
void DescribePreferences(const PartitionState& state, v1::AppStatus& status);

}  // namespace shardmanager::orchestrator
