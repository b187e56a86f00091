#include "model/layout.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shardmanager {
namespace {

// Zero-padded so that names sort like their ranges.
std::string ShardName(const std::string& prefix, size_t index, size_t count) {
  const int digits = static_cast<int>(absl::StrCat(count - 1).size());
  return absl::StrFormat("%s%0*d", prefix, digits, index);
}

// `point(i)`, from 1 to count - 1: where shard i starts.
template <typename Point>
std::vector<LayoutShard> Cut(const v1::KeySpace& keys, size_t count, const Point& point) {
  const std::string prefix = keys.shard_prefix().empty() ? "shard-" : keys.shard_prefix();
  std::vector<LayoutShard> layout(count);
  for (size_t i = 0; i < count; ++i) {
    layout[i].id = ShardId(ShardName(prefix, i, count));
    layout[i].has_range = true;
    if (i > 0) layout[i].start = point(i);
    if (i + 1 < count) layout[i].end = point(i + 1);
  }
  return layout;
}

// The least hash of part `i` of `count` equal ones, as KeySpace.hash_keys writes it.
std::string HashPoint(size_t i, size_t count) {
  const unsigned __int128 all = static_cast<unsigned __int128>(i) << 64;
  const auto least = static_cast<uint64_t>((all + count - 1) / count);
  std::string digits = absl::StrFormat("%016x", least);
  digits.resize(digits.find_last_not_of('0') + 1);
  return digits;
}

std::vector<LayoutShard> FromShards(const v1::KeySpace& keys) {
  std::vector<LayoutShard> layout;
  layout.reserve(static_cast<size_t>(keys.shards_size()));
  for (const v1::Shard& shard : keys.shards()) {
    layout.push_back({.id = ShardId(shard.id()),
                      .has_range = shard.has_range(),
                      .start = shard.range().start(),
                      .end = shard.range().end(),
                      .preferred_region = shard.preferred_region()});
  }
  std::sort(layout.begin(), layout.end(), [](const LayoutShard& a, const LayoutShard& b) {
    return a.start != b.start ? a.start < b.start : a.id < b.id;
  });
  return layout;
}

std::vector<LayoutShard> WithoutRegions(const v1::KeySpace& keys) {
  if (const size_t count = keys.hash_shards(); count > 0) {
    return Cut(keys, count, [&](size_t i) { return HashPoint(i, count); });
  }
  if (keys.split_points().empty()) return FromShards(keys);
  return Cut(keys, static_cast<size_t>(keys.split_points_size()) + 1,
             [&](size_t i) { return keys.split_points(static_cast<int>(i) - 1); });
}

}  // namespace

bool HashesKeys(const v1::KeySpace& keys) { return keys.hash_keys() || keys.hash_shards() > 0; }

std::vector<LayoutShard> ExpandLayout(const v1::AppSpec& spec) {
  const v1::KeySpace& keys = spec.key_space();
  auto layout = WithoutRegions(keys);
  for (LayoutShard& shard : layout) {
    shard.hashed = shard.has_range && HashesKeys(keys);
    if (shard.preferred_region.empty()) {
      shard.preferred_region = spec.placement().preferred_region();
    }
  }
  return layout;
}

}  // namespace shardmanager
