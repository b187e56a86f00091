// Loads of shards, as servers report them.
#pragma once

namespace shardmanager {

// The metric that needs no report.
inline constexpr char kReplicaCountMetric[] = "replicas";

// Of one shard, or the capacity of one server, in the metric's own unit. Sums over a
// large fleet stay exact enough, and far from overflow.
inline constexpr double kMostLoad = 1e12;

}  // namespace shardmanager
