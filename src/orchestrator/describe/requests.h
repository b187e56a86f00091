// What is asked of an app's own orchestrator.
#pragma once

#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/task_control.pb.h"

namespace shardmanager::orchestrator {

// All that is asked now, and when the next map is wanted.
v1::SupplyMapResponse DescribeRequests(const PartitionState& state, TimePoint now);

}  // namespace shardmanager::orchestrator
