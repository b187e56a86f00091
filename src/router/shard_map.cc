#include "router/shard_map.h"

#include <algorithm>

namespace shardmanager::router {

bool SameServer(const MappedServer& a, const MappedServer& b) {
  return a.name == b.name && a.endpoint == b.endpoint && a.fault_domain == b.fault_domain;
}

bool SameServers(const ShardMap& a, ShardIndex in_a, const ShardMap& b, ShardIndex in_b) {
  const auto mine = a.replicas(in_a);
  const auto theirs = b.replicas(in_b);
  return std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                    [&](const MappedReplica& one, const MappedReplica& other) {
                      return one.role() == other.role() &&
                             SameServer(a.server(one.server()), b.server(other.server()));
                    });
}

}  // namespace shardmanager::router
