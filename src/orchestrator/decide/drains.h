// Which orders cover a server: of operators, to empty it; of container operations; and of
// maintenances.
#pragma once

#include <optional>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// An operator's order to empty the server; null: there is none.
const v1::Drain* DrainOf(const PartitionState& state, ServerIndex id);
// What replicas, or the role of primary, would leave the server for, as ControlEvent.operation has
// it: an operator's drain, a maintenance or a container operation. "": for nothing that somebody
// asked for.
std::string OperationBehind(const PartitionState& state, ServerIndex from);
// The maintenance that is prepared there, or under way; of several the one that began, or begins,
// first. Null: there is none.
const PlannedMaintenance* MaintenanceOf(const PartitionState& state, ServerIndex id);
// What container operations alone ask for the server; null: nothing.
const ServerOrder* OperationsOrder(const PartitionState& state, ServerIndex id);
// What container operations and maintenances ask for the server, together; nothing: they ask
// nothing.
std::optional<ServerOrder> OrderOf(const PartitionState& state, ServerIndex id);
// When what has begun has taken too long: balance waits for it no more. kNever: it has not begun,
// or is not said to end.
TimePoint OverdueAt(const PartitionState& state, const ServerOrder& order);

// Is the server in the scope of the maintenance, whether it lives or not?
bool IsIn(const PartitionState& state, const PlannedMaintenance& maintenance, ServerIndex id);

// The allocator has found no other place for anything that is to move.
inline bool NothingMoves(const PartitionState& state) {
  return state.balance.at_rest && state.moves.budgets.planned_moves() == 0 &&
         !state.balance.plan_out;
}

}  // namespace shardmanager::orchestrator
