// The partition as the task controller sees it.
#pragma once

#include "orchestrator/state/partition_state.h"
#include "taskcontroller/state/fleet_view.h"

namespace shardmanager::orchestrator {

// It refers to names in `state`: for use at once.
taskcontroller::FleetView ViewOf(const PartitionState& state);

}  // namespace shardmanager::orchestrator
