// What is wrong with an app, for `shardctl status` and the metric shardmanager_problems. Reading
// only.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

v1::Problem ProblemOf(v1::Problem::Severity severity, std::string reason, std::string message);

// The worst first; without the name of the app. `health`: of the state, with longest_unserved_ms as
// far as it is known.
std::vector<v1::Problem> ProblemsOf(const PartitionState& state, const v1::AppHealth& health,
                                    TimePoint now);

}  // namespace shardmanager::orchestrator
