// What servers carry of each metric, by what they report, and how much they can.
#pragma once

#include <vector>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// How much the server can carry of a metric; infinity: no limit.
double MetricCapacity(const PartitionState& state, ServerIndex server, size_t metric);
// What it carries of one, by the newest reports.
double ServerLoad(const PartitionState& state, ServerIndex server, size_t metric);
double ReplicaLoad(const PartitionState& state, ReplicaIndex replica, size_t metric);
// How much each live server carries of each metric, as a part of what the solver may
// leave it at most: [server][metric].
std::vector<float> Pressure(const PartitionState& state, const LoadTable& loads);

}  // namespace shardmanager::orchestrator
