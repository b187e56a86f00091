// A shard map as the bytes that go over the wire (discovery.proto).
//
// A publisher holds the map in this form: a shard costs its name, its range and a
// few bytes, a change is found by comparing bytes, and a message is put together
// by copying, once for all subscribers. Fields that this build does not know pass
// through unchanged.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/map_version.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::discovery {

// One serialized v1::WatchResponse, shared by all subscribers that get it.
using Message = std::shared_ptr<const std::string>;

// A serialized v1::MapServer; of one that is gone: empty.
std::string EncodeServer(const v1::MapServer& server);
// A serialized v1::MapShard without its replicas: what never changes in a layout.
std::string EncodeShardName(const v1::MapShard& shard);
// The serialized `replicas` fields alone: what does change.
std::string EncodeReplicas(const v1::MapShard& shard);

// What changed between two versions, by index, ascending.
struct Change {
  using Entries = std::vector<std::pair<uint32_t, std::string>>;

  MapVersion from;
  MapVersion to;
  Entries servers;  // EncodeServer
  Entries shards;   // EncodeReplicas: the whole new list

  // What it occupies, about what it takes on the wire.
  size_t bytes() const;
};

Message EncodeDelta(const Change& change);
// The same with WatchResponse.more.
Message WithMore(const Message& message);
Message Encode(const v1::Heartbeat& heartbeat);

// Builds the parts of a snapshot, each of about `part_bytes` at most. Servers
// first, then shards in ascending order, then Finish().
class SnapshotEncoder {
 public:
  // `cell`: MapSnapshot.cell.
  SnapshotEncoder(MapVersion version, const std::string& cell, size_t part_bytes);

  void AddServer(std::string_view server);
  void AddShard(std::string_view name, std::string_view replicas);
  std::vector<Message> Finish();

 private:
  void Add(uint32_t field, std::string_view head, std::string_view tail);
  void EndPart(bool last);

  const size_t part_bytes_;
  std::string head_;  // the fields that all parts have
  std::string body_;
  std::vector<Message> parts_;
};

}  // namespace shardmanager::discovery
