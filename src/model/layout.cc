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

std::vector<LayoutShard> FromSplitPoints(const v1::KeySpace& keys) {
  const std::string prefix = keys.shard_prefix().empty() ? "shard-" : keys.shard_prefix();
  const size_t count = static_cast<size_t>(keys.split_points_size()) + 1;
  std::vector<LayoutShard> layout(count);
  for (size_t i = 0; i < count; ++i) {
    layout[i].id = ShardId(ShardName(prefix, i, count));
    layout[i].has_range = true;
    if (i > 0) layout[i].start = keys.split_points(static_cast<int>(i) - 1);
    if (i + 1 < count) layout[i].end = keys.split_points(static_cast<int>(i));
  }
  return layout;
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

}  // namespace

std::vector<LayoutShard> ExpandLayout(const v1::AppSpec& spec) {
  const v1::KeySpace& keys = spec.key_space();
  auto layout = keys.split_points_size() > 0 ? FromSplitPoints(keys) : FromShards(keys);
  for (LayoutShard& shard : layout) {
    if (shard.preferred_region.empty()) {
      shard.preferred_region = spec.placement().preferred_region();
    }
  }
  return layout;
}

}  // namespace shardmanager
