// Which orders cover a server: of operators, to empty it, and of container operations.
#pragma once

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// An operator's order to empty the server; null: there is none.
const v1::Drain* DrainOf(const PartitionState& state, ServerIndex id);
// What container operations ask for the server; null: nothing.
const ServerOrder* OrderOf(const PartitionState& state, ServerIndex id);
// All of its replicas are to leave for a container operation.
bool IsEmptiedForOperation(const PartitionState& state, ServerIndex id);

}  // namespace shardmanager::orchestrator
