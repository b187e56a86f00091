// A partition's state as operators see it (admin.proto). Reading only.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "orchestrator/describe/health.h"
#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// ReplicaStatus.reason of a secondary that serves and lacks writes.
inline constexpr char kNotInStep[] = "not in step with the primary";

// What the server carries of the metric, by its position in metric_names().
v1::MetricUse DescribeUse(const PartitionState& state, ServerIndex server, size_t metric);
v1::AppStatus DescribeApp(const PartitionState& state, TimePoint now);
// `health`: of the state.
v1::AppStatus DescribeApp(const PartitionState& state, const Health& health, TimePoint now);
// Empty `server`: all of them.
std::vector<v1::ServerStatus> DescribeServers(const PartitionState& state, TimePoint now,
                                              const std::string& server);
// INVALID_ARGUMENT: a state that no shard can be in.
absl::Status ValidateFilter(const v1::GetShardsRequest& request);
// Those that are asked for, in map order. Whether there is such a server is not looked at.
std::vector<v1::ShardStatus> DescribeShards(const PartitionState& state,
                                            const v1::GetShardsRequest& request);
// Empty `shard`: all of them.
std::vector<v1::ShardStatus> DescribeShards(const PartitionState& state, const std::string& shard);
v1::ShardStatus DescribeShard(const PartitionState& state, size_t map_index);

// A note as an event for people. `app` and the time are the caller's to fill in.
v1::ControlEvent DescribeNote(const PartitionState& state, const Note& note);

}  // namespace shardmanager::orchestrator
