// One version of one app's shard map, and how it becomes the next.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "discovery/map_encoding.h"
#include "model/map/whole_map.h"
#include "model/map_version.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::discovery {

// Holds about 60 bytes a shard (its id and range) plus 32 for its replicas.
class MapState {
 public:
  // The whole map. INVALID_ARGUMENT when it contradicts itself: shard indexes that
  // are not 0, 1, 2, ..., a replica on a server that is not listed.
  static absl::Status Decode(const WholeMap& whole, MapState* state);
  static absl::Status Decode(const v1::MapSnapshot& whole, MapState* state);

  // The change that `delta` is. INVALID_ARGUMENT when it names a shard or a server
  // that this map does not have. Does not look at versions.
  absl::Status Decode(const v1::MapDelta& delta, Change* change) const;

  // REQUIRES: change.from is this version; the change was decoded against it.
  void Apply(const Change& change);

  // What makes this map into `next`. REQUIRES: SameLayout(next).
  Change DifferenceTo(const MapState& next) const;
  // The same shards with the same ranges, in the same order.
  bool SameLayout(const MapState& other) const;

  std::vector<Message> EncodeParts(size_t part_bytes) const;

  MapVersion version() const { return version_; }
  const std::string& cell() const { return cell_; }
  size_t shards() const { return replicas_.size(); }

 private:
  absl::Status Add(const v1::MapSnapshot& part);
  std::string_view ShardName(size_t index) const;

  MapVersion version_;
  std::string cell_;
  std::map<uint32_t, std::string> servers_;  // by index: EncodeServer
  std::string names_;                        // EncodeShardName of all shards
  std::vector<size_t> name_ends_;            // where each one ends in names_
  std::vector<std::string> replicas_;        // EncodeReplicas of each shard
};

}  // namespace shardmanager::discovery
