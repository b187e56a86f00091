#include "discovery/map_encoding.h"

#include "model/map_server.h"
#include "shardmanager/v1/types.pb.h"

namespace shardmanager::discovery {
namespace {

// The wire format: https://protobuf.dev/programming-guides/encoding. Fields are
// put together by hand because a publisher copies ready-made bytes into them.
void AppendVarint(uint64_t value, std::string& out) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

void AppendField(uint32_t field, std::string_view head, std::string_view tail, std::string& out) {
  constexpr uint32_t kLengthDelimited = 2;
  AppendVarint(field << 3 | kLengthDelimited, out);
  AppendVarint(head.size() + tail.size(), out);
  out.append(head);
  out.append(tail);
}

void AppendVersion(uint32_t field, MapVersion version, std::string& out) {
  AppendField(field, version.ToProto().SerializeAsString(), "", out);
}

Message Wrap(uint32_t field, std::string_view body) {
  auto message = std::make_shared<std::string>();
  message->reserve(body.size() + 8);
  AppendField(field, body, "", *message);
  return message;
}

}  // namespace

std::string EncodeServer(const v1::MapServer& server) {
  return IsGone(server) ? std::string() : server.SerializeAsString();
}

std::string EncodeShardName(const v1::MapShard& shard) {
  v1::MapShard name = shard;
  name.clear_replicas();
  return name.SerializeAsString();
}

std::string EncodeReplicas(const v1::MapShard& shard) {
  std::string out;
  for (const v1::MapReplica& replica : shard.replicas()) {
    AppendField(v1::MapShard::kReplicasFieldNumber, replica.SerializeAsString(), "", out);
  }
  return out;
}

size_t Change::bytes() const {
  constexpr size_t kEntryOverhead = 16;
  size_t bytes = 0;
  for (const auto& [index, server] : servers) bytes += server.size() + kEntryOverhead;
  for (const auto& [index, replicas] : shards) bytes += replicas.size() + kEntryOverhead;
  return bytes;
}

Message EncodeDelta(const Change& change) {
  std::string body;
  AppendVersion(v1::MapDelta::kFromFieldNumber, change.from, body);
  AppendVersion(v1::MapDelta::kVersionFieldNumber, change.to, body);
  for (const auto& [index, server] : change.servers) {
    v1::MapServer gone;
    gone.set_index(index);
    AppendField(v1::MapDelta::kServersFieldNumber,
                server.empty() ? gone.SerializeAsString() : server, "", body);
  }
  v1::MapShard shard;
  for (const auto& [index, replicas] : change.shards) {
    shard.set_index(index);
    AppendField(v1::MapDelta::kShardsFieldNumber, shard.SerializeAsString(), replicas, body);
  }
  return Wrap(v1::WatchResponse::kDeltaFieldNumber, body);
}

Message Encode(const v1::Heartbeat& heartbeat) {
  v1::WatchResponse response;
  *response.mutable_heartbeat() = heartbeat;
  return std::make_shared<std::string>(response.SerializeAsString());
}

// Fields may come in any order: this one goes to the end.
Message WithMore(const Message& message) {
  v1::WatchResponse more;
  more.set_more(true);
  return std::make_shared<std::string>(*message + more.SerializeAsString());
}

SnapshotEncoder::SnapshotEncoder(MapVersion version, const std::string& cell, size_t part_bytes)
    : part_bytes_(part_bytes) {
  AppendVersion(v1::MapSnapshot::kVersionFieldNumber, version, head_);
  if (!cell.empty()) AppendField(v1::MapSnapshot::kCellFieldNumber, cell, "", head_);
  body_ = head_;
}

void SnapshotEncoder::AddServer(std::string_view server) {
  Add(v1::MapSnapshot::kServersFieldNumber, server, "");
}

void SnapshotEncoder::AddShard(std::string_view name, std::string_view replicas) {
  Add(v1::MapSnapshot::kShardsFieldNumber, name, replicas);
}

std::vector<Message> SnapshotEncoder::Finish() {
  EndPart(/*last=*/true);
  return std::move(parts_);
}

void SnapshotEncoder::Add(uint32_t field, std::string_view head, std::string_view tail) {
  constexpr size_t kFraming = 16;
  const size_t grown = body_.size() + head.size() + tail.size() + kFraming;
  if (grown > part_bytes_ && body_.size() > head_.size()) EndPart(/*last=*/false);
  AppendField(field, head, tail, body_);
}

void SnapshotEncoder::EndPart(bool last) {
  if (last) {
    v1::MapSnapshot end;
    end.set_last(true);
    body_.append(end.SerializeAsString());
  }
  parts_.push_back(Wrap(v1::WatchResponse::kSnapshotFieldNumber, body_));
  body_ = head_;
}

}  // namespace shardmanager::discovery
