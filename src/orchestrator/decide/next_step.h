// From one shard's state to what should be written for it.
#pragma once

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// REQUIRES: no write of the shard is out, and it is not held back.
Change NextStep(const PartitionState& state, ShardIndex id);
// The change would write a record that was refused just now.
bool AwaitsRecord(const PartitionState& state, const Change& change);

}  // namespace shardmanager::orchestrator
