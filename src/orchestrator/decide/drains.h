// Which order to empty a server covers it.
#pragma once

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// The order to empty the server; null: there is none.
const v1::Drain* DrainOf(const PartitionState& state, ServerIndex id);

}  // namespace shardmanager::orchestrator
