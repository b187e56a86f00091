// What servers carry of each metric, by what they report, and how much they can.
#pragma once

#include <vector>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// Why an amount that a server tells cannot be taken over. Null: it can.
const char* WhyRefused(double amount);
// How much each server can carry of a metric that says nothing else; infinity: no limit.
double SpecCapacity(const PartitionState& state, size_t metric);
// How much the server can carry of a metric, by one of the tables of Loads.
double MetricCapacity(const PartitionState& state, const Capacities& capacities, ServerIndex server,
                      size_t metric);
// What it carries of one, by the newest reports.
double ServerLoad(const PartitionState& state, ServerIndex server, size_t metric);
double ReplicaLoad(const PartitionState& state, ReplicaIndex replica, size_t metric);
// What the solver may leave each live server at most of each metric: [server][metric]; 0: nothing
// is known of the metric, or the server is not live.
std::vector<double> LoadLimits(const PartitionState& state, const LoadTable& loads,
                               const Capacities& capacities);
// How much each live server carries of each metric, as a part of what the solver may
// leave it at most: [server][metric].
std::vector<float> Pressure(const PartitionState& state, const LoadTable& loads,
                            const Capacities& capacities);

}  // namespace shardmanager::orchestrator
