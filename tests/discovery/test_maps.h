// Small shard maps for tests, and what subscribers make of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "discovery/map_encoding.h"
#include "discovery/map_receiver.h"
#include "model/map_version.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::discovery {

// `owners[i]`: the servers of shard i ("kv-0", "kv-1" ... by number; may be empty).
using Owners = std::vector<std::vector<uint32_t>>;

v1::MapSnapshot MakeSnapshot(MapVersion version, const Owners& owners, uint32_t servers = 10);

// One shard gets new owners.
v1::MapDelta MakeDelta(MapVersion from, MapVersion to, uint32_t shard,
                       const std::vector<uint32_t>& owners);

// A plain, slow second implementation of a map: what each shard's clients would see,
// as "server name@endpoint/role" lists.
class PlainMap {
 public:
  void Apply(const v1::MapSnapshot& whole);
  void Apply(const v1::MapDelta& delta);

  MapVersion version() const { return version_; }
  std::vector<std::string> Shards() const;
  v1::MapSnapshot ToSnapshot() const;

 private:
  MapVersion version_;
  std::map<uint32_t, v1::MapServer> servers_;
  std::vector<v1::MapShard> shards_;
};

// A subscriber: parses messages as the wire would and keeps its map.
class PlainSubscriber {
 public:
  // Expects each message to fit; returns what was wrong, or "".
  std::string Take(const Message& message);

  const PlainMap& map() const { return map_; }
  std::optional<MapVersion> held() const { return receiver_.held(); }
  std::optional<MapVersion> known() const { return receiver_.known(); }
  void OpenStream() { receiver_.StreamOpened(); }
  int snapshots() const { return snapshots_; }
  int deltas() const { return deltas_; }

 private:
  MapReceiver receiver_;
  PlainMap map_;
  int snapshots_ = 0;
  int deltas_ = 0;
};

}  // namespace shardmanager::discovery
