#include "router/map_layout.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shardmanager/routing.h"

namespace shardmanager::router {
namespace {

bool HasRange(const v1::MapShard& shard) { return shard.has_range() || shard.has_hash_range(); }

const v1::KeyRange& RangeOf(const v1::MapShard& shard) {
  return shard.has_hash_range() ? shard.hash_range() : shard.range();
}

}  // namespace

absl::Status MapLayout::Build(const v1::MapSnapshot& whole,
                              std::shared_ptr<const MapLayout>* layout) {
  std::shared_ptr<MapLayout> built(new MapLayout);
  if (absl::Status status = built->TakeIds(whole); !status.ok()) return status;
  if (absl::Status status = built->OrderByKey(); !status.ok()) return status;
  *layout = std::move(built);
  return absl::OkStatus();
}

absl::Status MapLayout::TakeIds(const v1::MapSnapshot& whole) {
  ids_.reserve(static_cast<size_t>(whole.shards_size()));
  for (const v1::MapShard& shard : whole.shards()) {
    if (shard.index() != ids_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("shard index ", shard.index(), " where ", ids_.size(), " must come"));
    }
    ids_.push_back(shard.id());
    ranges_.push_back({HasRange(shard), RangeOf(shard).start(), RangeOf(shard).end()});
    if (shard.index() == 0) hashed_ = shard.has_hash_range();
    if (hashed_ != shard.has_hash_range() || (hashed_ && shard.has_range())) {
      return absl::InvalidArgumentError(
          absl::StrCat("shard ", shard.id(), " and others do not agree whether keys are hashed"));
    }
  }
  by_id_.reserve(ids_.size());
  for (size_t i = 0; i < ids_.size(); ++i) {
    if (!by_id_.emplace(ids_[i], ShardIndex(i)).second) {
      return absl::InvalidArgumentError(absl::StrCat("two shards are named ", ids_[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status MapLayout::OrderByKey() {
  std::vector<ShardIndex> order;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (ranges_[i].present) order.emplace_back(i);
  }
  const auto range = [this](ShardIndex shard) -> const Range& { return ranges_[shard.index()]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](ShardIndex a, ShardIndex b) { return range(a).start < range(b).start; });
  std::vector<std::string_view> starts;
  bool as_indexed = true;
  for (size_t i = 0; i < order.size(); ++i) {
    starts.push_back(range(order[i]).start);
    as_indexed = as_indexed && order[i].index() == i;
    const bool last = i + 1 == order.size();
    if (!last && range(order[i]).start == range(order[i + 1]).start) {
      return absl::InvalidArgumentError(
          absl::StrCat("shards ", id(order[i]), " and ", id(order[i + 1]), " start at one key"));
    }
    gapless_ = gapless_ && range(order[i]).end == (last ? "" : range(order[i + 1]).start);
  }
  starts_ = KeyTable(starts);
  if (!as_indexed) in_key_order_ = std::move(order);
  return absl::OkStatus();
}

bool MapLayout::BeforeEnd(ShardIndex shard, std::string_view key) const {
  const std::string& end = ranges_[shard.index()].end;
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
  return found == by_id_.end() ? ShardIndex() : found->second;
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

bool MapLayout::Matches(const v1::MapSnapshot& whole) const {
  if (static_cast<size_t>(whole.shards_size()) != ids_.size()) return false;
  for (size_t i = 0; i < ids_.size(); ++i) {
    const v1::MapShard& shard = whole.shards(static_cast<int>(i));
    const Range& mine = ranges_[i];
    const v1::KeyRange& range = RangeOf(shard);
    if (shard.index() != i || shard.id() != ids_[i] || HasRange(shard) != mine.present ||
        shard.has_hash_range() != hashed_ || range.start() != mine.start ||
        range.end() != mine.end) {
      return false;
    }
  }
  return true;
}

}  // namespace shardmanager::router
