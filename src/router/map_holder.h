// Makes each version of a shard map out of the last one and an update.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "model/map/whole_map.h"
#include "router/shard_map.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::router {

// Not thread-safe; the maps that it gives out are immutable.
class MapHolder {
 public:
  // Each returns OK and moves map() on, or changes nothing: INVALID_ARGUMENT, the
  // update contradicts itself or the map; FAILED_PRECONDITION, it is not newer, or is
  // a delta from another version.
  absl::Status Apply(const WholeMap& whole);
  absl::Status Apply(const v1::MapSnapshot& whole) { return Apply(WholeMap(whole)); }
  absl::Status Apply(const v1::MapDelta& delta);

  // Null before the first snapshot.
  const std::shared_ptr<const ShardMap>& map() const { return map_; }

  // Shards that no server serves, and the first of them.
  size_t unserved() const { return unserved_; }
  ShardIndex FirstUnserved() const;

  // Endpoints that served something at the last call and serve nothing now.
  std::vector<std::string> TakeAbandonedEndpoints();

 private:
  using Replicas = std::vector<MappedReplica>;
  using Servers = ShardMap::Servers;

  absl::Status CheckNewer(MapVersion version) const;
  absl::Status TakeServers(const google::protobuf::RepeatedPtrField<v1::MapServer>& from,
                           Servers& servers) const;
  // Of a server that the map in use has at the same index, what is known of its health is kept.
  std::shared_ptr<const MappedServer> Mapped(const v1::MapServer& server) const;
  static absl::Status TakeReplicas(const v1::MapShard& shard, const Servers& servers,
                                   Replicas& replicas);
  // Of the shards of one part, which come in ascending order.
  static absl::Status TakeShards(const v1::MapSnapshot& part, const Servers& servers,
                                 ShardMap& next);
  static void Append(const Replicas& replicas, size_t at, ShardMap::Block& block);
  void ReplaceShards(const std::map<uint32_t, Replicas>& lists, ShardMap& next);
  void Recount(const std::map<uint32_t, Replicas>& lists);
  void CountAll(const ShardMap& map);
  void Abandon(const Servers& before, const Servers& after);

  std::shared_ptr<const ShardMap> map_;
  size_t unserved_ = 0;
  std::vector<size_t> uses_;  // replicas on each server, by index
  std::set<std::string> abandoned_;
};

}  // namespace shardmanager::router
