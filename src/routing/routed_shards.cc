#include "routing/routed_shards.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace shardmanager {

uint64_t KeyHash(std::string_view key) { return routing::Hash(key, 0); }

namespace routing {
namespace {

constexpr uint32_t kMostWeight = 1'000;

absl::Status CheckIds(const std::vector<RoutedShard>& sorted) {
  if (sorted.empty()) return absl::InvalidArgumentError("there are no shards to choose from");
  if (sorted.front().id.empty()) return absl::InvalidArgumentError("a shard has no id");
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i - 1].id == sorted[i].id) {
      return absl::InvalidArgumentError(
          absl::StrCat("two shards are named ", sorted[i].id.value()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckAndSort(std::vector<RoutedShard>& shards, uint64_t units_per_weight,
                          uint64_t most_units) {
  std::sort(shards.begin(), shards.end(),
            [](const RoutedShard& a, const RoutedShard& b) { return a.id < b.id; });
  if (absl::Status status = CheckIds(shards); !status.ok()) return status;
  uint64_t weights = 0;
  for (const RoutedShard& shard : shards) {
    if (shard.weight < 1 || shard.weight > kMostWeight) {
      return absl::InvalidArgumentError(absl::StrCat("shard ", shard.id.value(), " has the weight ",
                                                     shard.weight, "; allowed: 1 to ",
                                                     kMostWeight));
    }
    weights += shard.weight;
  }
  if (weights > most_units / units_per_weight) {
    return absl::InvalidArgumentError(absl::StrCat("all weights together are ", weights,
                                                   "; allowed: at most ",
                                                   most_units / units_per_weight));
  }
  return absl::OkStatus();
}

}  // namespace routing
}  // namespace shardmanager
