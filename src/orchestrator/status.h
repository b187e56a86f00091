// A partition's state as operators see it (admin.proto). Reading only.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "orchestrator/partition.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// What the server carries of the metric, by its position in metric_names().
v1::MetricUse DescribeUse(const Partition& partition, ServerIndex server, size_t metric);
v1::AppStatus DescribeApp(const Partition& partition, TimePoint now);
// Empty `server`: all of them.
std::vector<v1::ServerStatus> DescribeServers(const Partition& partition, TimePoint now,
                                              const std::string& server);
// Empty `shard`: all of them, in map order.
std::vector<v1::ShardStatus> DescribeShards(const Partition& partition, const std::string& shard);
v1::ShardStatus DescribeShard(const Partition& partition, size_t map_index);

// A note as an event for people. `app` and the time are the caller's to fill in.
v1::ControlEvent DescribeNote(const Partition& partition, const Note& note);

}  // namespace shardmanager::orchestrator
