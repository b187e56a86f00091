#include "router/map_layout.h"

#include <algorithm>
#include <array>
#include <numeric>
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
  built_->ids_.Reserve(shards);
  built_->bounds_.Reserve(shards + 1);
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
  if (!ids_.Add(shard.id())) {
    return absl::InvalidArgumentError("the ids of all shards have more than 4 GB");
  }
  ranged_.push_back(IsRanged(shard));
  if (!by_id_.insert(shard.index()).second) {
    return absl::InvalidArgumentError(absl::StrCat("two shards are named ", shard.id()));
  }
  return TakeRange(at, RangeOf(shard));
}

absl::Status MapLayout::TakeRange(size_t shard, const v1::KeyRange& range) {
  const bool follows = shard > 0 && range.start() == bounds_[bounds_.size() - 1];
  const bool as_indexed = first_bounds_.empty() && (follows || shard == 0);
  if (!as_indexed && first_bounds_.empty()) {
    first_bounds_.resize(shard);
    std::iota(first_bounds_.begin(), first_bounds_.end(), 0);
  }
  const bool fits = (follows || bounds_.Add(range.start())) && bounds_.Add(range.end());
  if (!fits) return absl::InvalidArgumentError("the keys of all ranges have more than 4 GB");
  if (!as_indexed) first_bounds_.push_back(static_cast<uint32_t>(bounds_.size() - 2));
  return absl::OkStatus();
}

absl::Status MapLayout::OrderByKey() {
  PageVector<ShardIndex> order;
  order.reserve(size());
  for (size_t i = 0; i < size(); ++i) {
    if (HasRange(i)) order.emplace_back(i);
  }
  std::sort(order.begin(), order.end(), [this](ShardIndex a, ShardIndex b) {
    const int order = start(a).compare(start(b));
    return order != 0 ? order < 0 : a.index() < b.index();
  });
  PageVector<std::string_view> starts;
  starts.reserve(order.size());
  bool as_indexed = true;
  for (size_t i = 0; i < order.size(); ++i) {
    starts.push_back(start(order[i]));
    as_indexed = as_indexed && order[i].index() == i;
    const bool last = i + 1 == order.size();
    if (!last && start(order[i]) == start(order[i + 1])) {
      return absl::InvalidArgumentError(absl::StrCat("shards ", std::string(id(order[i])), " and ",
                                                     std::string(id(order[i + 1])),
                                                     " start at one key"));
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
  const absl::Status same = whole.ForEachPiece([&](const v1::MapSnapshot& part) {
    for (const v1::MapShard& shard : part.shards()) {
      if (!HasShardAt(at++, shard)) return absl::NotFoundError("another layout");
    }
    return absl::OkStatus();
  });
  return same.ok();
}

bool MapLayout::HasShardAt(size_t at, const v1::MapShard& shard) const {
  return shard.index() == at && ids_[at] == shard.id() && IsRanged(shard) == HasRange(at) &&
         shard.has_hash_range() == hashed_ && RangeOf(shard).start() == start(ShardIndex(at)) &&
         RangeOf(shard).end() == end(ShardIndex(at));
}

}  // namespace shardmanager::router
