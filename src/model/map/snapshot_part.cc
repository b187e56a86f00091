#include "model/map/snapshot_part.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "model/map/message_fields.h"

namespace shardmanager {
namespace {

constexpr int kPieceShards = 256;

bool IsShard(const MessageField& field) {
  return field.number == v1::MapSnapshot::kShardsFieldNumber && field.has_body;
}

// Everything but shards.
bool ReadHead(std::string_view bytes, v1::MapSnapshot* head) {
  std::string fields;
  const bool is_message = ForEachField(bytes, [&fields](const MessageField& field) {
    if (!IsShard(field)) fields.append(field.all);
    return true;
  });
  return is_message && head->ParseFromString(fields);
}

}  // namespace

absl::StatusOr<SnapshotPart> SnapshotPart::Parse(PageString bytes) {
  SnapshotPart part;
  part.bytes_ = std::move(bytes);
  const absl::Status status = part.ForEachPiece([&part](const v1::MapSnapshot& piece) {
    part.Note(piece);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return part;
}

SnapshotPart::SnapshotPart(const v1::MapSnapshot& part) : bytes_(part.SerializeAsString()) {
  Note(part);
}

void SnapshotPart::Note(const v1::MapSnapshot& piece) {
  if (piece.has_version()) version_ = MapVersion::From(piece.version());
  if (!piece.cell().empty()) cell_ = piece.cell();
  last_ = last_ || piece.last();
  has_servers_ = has_servers_ || piece.servers_size() > 0;
  shards_ += static_cast<size_t>(piece.shards_size());
  for (const v1::MapShard& shard : piece.shards()) {
    first_shard_ = std::min(first_shard_, shard.index());
    last_shard_ = std::max(last_shard_, shard.index());
  }
}

absl::Status SnapshotPart::ForEachPiece(const Take& take) const {
  v1::MapSnapshot piece;
  absl::Status status;
  const auto pass_on = [&] {
    status = take(piece);
    piece.Clear();  // its objects are used again
    return status.ok();
  };
  const auto add = [&](const MessageField& field) {
    if (!IsShard(field)) return true;
    const bool good =
        piece.add_shards()->ParseFromArray(field.body.data(), static_cast<int>(field.body.size()));
    return good && (piece.shards_size() < kPieceShards || pass_on());
  };
  const bool whole = ReadHead(bytes_, &piece) && ForEachField(bytes_, add);
  if (!status.ok()) return status;
  if (!whole) {
    return absl::InvalidArgumentError("a part of the map is no message, or has text not in UTF-8");
  }
  pass_on();
  return status;
}

void SnapshotPart::MergeInto(v1::MapSnapshot& whole) const {
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(bytes_.data()),
                                               static_cast<int>(bytes_.size()));
  static_cast<void>(whole.MergeFromCodedStream(&input));
}

void SnapshotPart::Change(const std::function<void(v1::MapSnapshot& piece)>& change) {
  SnapshotPart changed;
  changed.bytes_.reserve(bytes_.size() + bytes_.size() / 8);
  const absl::Status status = ForEachPiece([&](v1::MapSnapshot& piece) {
    change(piece);
    changed.bytes_.append(piece.SerializeAsString());
    changed.Note(piece);
    return absl::OkStatus();
  });
  if (status.ok()) *this = std::move(changed);
}

}  // namespace shardmanager
