// Which limits of placement.spread_limits are broken.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// Of the app: limits above which some shards have replicas in one fault domain. A soft one may be
// broken for long, one that is not until the next look at the balance only.
std::vector<std::string> SpreadConditions(const PartitionState& state);

}  // namespace shardmanager::orchestrator
