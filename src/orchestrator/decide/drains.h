// Which order to empty a server covers it.
#pragma once

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

const v1::Drain* DrainOf(const PartitionState& state, ServerIndex id);

}  // namespace shardmanager::orchestrator
