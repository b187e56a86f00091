#include "router/map_layout.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shardmanager/routing.h"

namespace shardmanager::router {
namespace {

bool IsRanged(const v1::MapShard& shard) { return shard.has_range() || shard.has_hash_range(); }

const v1::KeyRange& RangeOf(const v1::MapShard& shard) {
  return shard.has_hash_range() ? shard.hash_range() : shard.range();
}

}  // namespace

MapLayout::Builder::Builder(size_t shards) : built_(new MapLayout) {
  built_->ids_.reserve(shards);
  built_->ranges_.reserve(shards);
  built_->ranged_.reserve(shards);
  built_->by_id_.reserve(shards);
}

absl::Status MapLayout::Builder::Add(const v1::MapSnapshot& part) {
  for (const v1::MapShard& shard : part.shards()) {
    if (absl::Status status = built_->Take(shard); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status MapLayout::Builder::Finish(std::shared_ptr<const MapLayout>* layout) {
  built_->keys_.shrink_to_fit();
  if (absl::Status status = built_->OrderByKey(); !status.ok()) return status;
  *layout = std::move(built_);
  return absl::OkStatus();
}

absl::Status MapLayout::Take(const v1::MapShard& shard) {
  const size_t at = ids_.size();
  if (shard.index() != at) {
    return absl::InvalidArgumentError(
        absl::StrCat("shard index ", shard.index(), " where ", at, " must come"));
  }
  if (at == 0) hashed_ = shard.has_hash_range();
  if (hashed_ != shard.has_hash_range() || (hashed_ && shard.has_range())) {
    return absl::InvalidArgumentError(
        absl::StrCat("shard ", shard.id(), " and others do not agree whether keys are hashed"));
  }
  ids_.push_back(shard.id());
  ranged_.push_back(IsRanged(shard));
  if (!by_id_.insert(shard.index()).second) {
    return absl::InvalidArgumentError(absl::StrCat("two shards are named ", shard.id()));
  }
  const v1::KeyRange& keys = RangeOf(shard);
  Range range;
  if (at > 0 && keys.start() == ranges_.back().end.In(keys_)) {
    range.start = ranges_.back().end;
  } else if (absl::Status status = AddKey(keys.start(), &range.start); !status.ok()) {
    return status;
  }
  absl::Status status = AddKey(keys.end(), &range.end);
  ranges_.push_back(range);
  return status;
}

absl::Status MapLayout::AddKey(const std::string& key, Piece* piece) {
  if (keys_.size() + key.size() > std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError("the keys of all ranges have more than 4 GB");
  }
  *piece = {static_cast<uint32_t>(keys_.size()), static_cast<uint32_t>(key.size())};
  keys_ += key;
  return absl::OkStatus();
}

absl::Status MapLayout::OrderByKey() {
  std::vector<ShardIndex> order;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (HasRange(i)) order.emplace_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [this](ShardIndex a, ShardIndex b) { return start(a) < start(b); });
  std::vector<std::string_view> starts;
  starts.reserve(order.size());
  bool as_indexed = true;
  for (size_t i = 0; i < order.size(); ++i) {
    starts.push_back(start(order[i]));
    as_indexed = as_indexed && order[i].index() == i;
    const bool last = i + 1 == order.size();
    if (!last && start(order[i]) == start(order[i + 1])) {
      return absl::InvalidArgumentError(
          absl::StrCat("shards ", id(order[i]), " and ", id(order[i + 1]), " start at one key"));
    }
    gapless_ = gapless_ && end(order[i]) == (last ? "" : start(order[i + 1]));
  }
  starts_ = KeyTable(starts);
  if (!as_indexed) in_key_order_ = std::move(order);
  return absl::OkStatus();
}

bool MapLayout::BeforeEnd(ShardIndex shard, std::string_view key) const {
  const std::string_view end = this->end(shard);
  return end.empty() || key < end;
}

ShardIndex MapLayout::FindByHash(std::string_view key) const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const uint64_t hash = KeyHash(key);
  std::array<char, 16> text;
  for (size_t i = 0; i < text.size(); ++i) text[i] = kDigits[hash >> (60 - 4 * i) & 15];
  return Find(std::string_view(text.data(), text.size()));
}

ShardIndex MapLayout::FindById(std::string_view id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? ShardIndex() : ShardIndex(*found);
}

std::vector<ShardIndex> MapLayout::FindInRange(std::string_view start, std::string_view end) const {
  std::vector<ShardIndex> shards;
  const auto is_before_end = [&](std::string_view key) { return end.empty() || key < end; };
  if (!is_before_end(start)) return shards;
  const size_t up_to_start = starts_.CountUpTo(start);
  for (size_t at = up_to_start == 0 ? 0 : up_to_start - 1; at < starts_.size(); ++at) {
    const ShardIndex shard = in_key_order_.empty() ? ShardIndex(at) : in_key_order_[at];
    if (!is_before_end(this->start(shard))) break;
    if (BeforeEnd(shard, start)) shards.push_back(shard);
  }
  return shards;
}

bool MapLayout::Matches(const WholeMap& whole) const {
  if (whole.shards() != size()) return false;
  size_t at = 0;
  const absl::Status same = whole.ForEachPart([&](const v1::MapSnapshot& part) {
    for (const v1::MapShard& shard : part.shards()) {
      if (!HasShardAt(at++, shard)) return absl::NotFoundError("another layout");
    }
    return absl::OkStatus();
  });
  return same.ok();
}

bool MapLayout::HasShardAt(size_t at, const v1::MapShard& shard) const {
  return shard.index() == at && shard.id() == ids_[at] && IsRanged(shard) == HasRange(at) &&
         shard.has_hash_range() == hashed_ && RangeOf(shard).start() == start(ShardIndex(at)) &&
         RangeOf(shard).end() == end(ShardIndex(at));
}

}  // namespace shardmanager::router
