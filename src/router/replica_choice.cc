#include "router/replica_choice.h"

#include <algorithm>
#include <span>

namespace shardmanager::router {
namespace {

// The `random`th of those that `fits` accepts; null if it accepts none.
template <typename Fits>
const MappedReplica* AnyOf(std::span<const MappedReplica> replicas, uint64_t random,
                           const Fits& fits) {
  const auto count = static_cast<uint64_t>(std::count_if(replicas.begin(), replicas.end(), fits));
  if (count == 0) return nullptr;
  uint64_t skip = random % count;
  for (const MappedReplica& replica : replicas) {
    if (fits(replica) && skip-- == 0) return &replica;
  }
  return nullptr;
}

}  // namespace

const MappedReplica* ChooseReplica(const ShardMap& map, ShardIndex shard,
                                   const ReplicaPreference& preference) {
  const std::span<const MappedReplica> replicas = map.replicas(shard);
  bool behind = false;
  for (const MappedReplica& replica : replicas) {
    if (preference.any_replica) break;
    if (replica.role() == Role::kPrimary) return &replica;
    behind |= replica.behind_primary();
  }
  if (behind) return nullptr;  // its primary is awaited
  if (replicas.size() <= 1) return replicas.empty() ? nullptr : &replicas.front();
  const auto good = [&](const MappedReplica& replica) {
    return map.server(replica.server()).name != preference.avoid;
  };
  const auto near = [&](const MappedReplica& replica) {
    return good(replica) && map.server(replica.server()).fault_domain.region == preference.region;
  };
  if (const MappedReplica* chosen = AnyOf(replicas, preference.random, near)) return chosen;
  return AnyOf(replicas, preference.random, good);
}

}  // namespace shardmanager::router
