// Maintenances, as tables and texts. Pure, like render.h.
#pragma once

#include <string>

#include "cli/render.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::cli {

// ID WHERE IMPACT STATE LEFT TO-LEAVE HITS REASON; with APP when there are several.
std::string MaintenancesTable(const v1::GetMaintenancesResponse& response, Style style);

// All about one, as one app sees it: its times, what leaves, and each shard that it hits.
std::string DescribeMaintenance(const v1::MaintenanceStatus& status, Style style);

}  // namespace shardmanager::cli
