#include <algorithm>
#include <utility>

#include "routing/routed_shards.h"

namespace shardmanager {
namespace {

constexpr uint64_t kMostPoints = 100'000'000;

}  // namespace

absl::StatusOr<RingHash> RingHash::Make(std::vector<RoutedShard> shards, uint32_t virtual_nodes) {
  if (virtual_nodes == 0) return absl::InvalidArgumentError("virtual_nodes is 0");
  if (absl::Status status = routing::CheckAndSort(shards, virtual_nodes, kMostPoints);
      !status.ok()) {
    return status;
  }
  return RingHash(std::move(shards), virtual_nodes);
}

RingHash::RingHash(std::vector<RoutedShard> sorted, uint32_t virtual_nodes) {
  std::vector<std::pair<uint64_t, uint32_t>> points;  // owner by point
  for (RoutedShard& shard : sorted) {
    const uint64_t count = uint64_t{shard.weight} * virtual_nodes;
    for (uint64_t i = 0; i < count; ++i) {
      points.emplace_back(routing::Hash(shard.id.value(), i), static_cast<uint32_t>(ids_.size()));
    }
    ids_.push_back(std::move(shard.id));
  }
  std::sort(points.begin(), points.end());  // of equal points, the smaller id comes first
  for (const auto& [point, owner] : points) {
    if (!points_.empty() && points_.back() == point) continue;
    points_.push_back(point);
    owners_.push_back(owner);
  }
}

const ShardId& RingHash::Find(std::string_view key) const {
  const auto point = std::lower_bound(points_.begin(), points_.end(), KeyHash(key));
  const auto at = point == points_.end() ? 0 : point - points_.begin();
  return ids_[owners_[static_cast<size_t>(at)]];
}

}  // namespace shardmanager
