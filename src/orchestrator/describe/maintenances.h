// Maintenances, as operators see them.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// Those of which the app has notice. `id`: only this one, unless it is empty.
std::vector<v1::MaintenanceStatus> DescribeMaintenances(const PartitionState& state, TimePoint now,
                                                        const std::string& id);
// For people, of one that is prepared or under way: "maintenance change-4711 begins in 42 s".
std::string MaintenanceState(const PlannedMaintenance& maintenance, TimePoint now);
// Of those that are under way, or about to begin, and hit shards: a line each.
std::vector<std::string> MaintenanceConditions(const PartitionState& state, TimePoint now);

}  // namespace shardmanager::orchestrator
