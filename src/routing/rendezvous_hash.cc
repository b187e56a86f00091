#include <array>
#include <utility>

#include "routing/routed_shards.h"

namespace shardmanager {
namespace {

constexpr uint64_t kMostUnits = 1'000'000;

std::array<char, 8> BigEndian(uint64_t value) {
  std::array<char, 8> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(value >> (56 - 8 * i));
  return bytes;
}

}  // namespace

absl::StatusOr<RendezvousHash> RendezvousHash::Make(std::vector<RoutedShard> shards) {
  if (absl::Status status = routing::CheckAndSort(shards, 1, kMostUnits); !status.ok()) {
    return status;
  }
  return RendezvousHash(std::move(shards));
}

RendezvousHash::RendezvousHash(std::vector<RoutedShard> sorted) {
  for (RoutedShard& shard : sorted) {
    for (uint32_t i = 0; i < shard.weight; ++i) {
      seeds_.push_back(routing::Hash(shard.id.value(), i));
      owners_.push_back(static_cast<uint32_t>(ids_.size()));
    }
    ids_.push_back(std::move(shard.id));
  }
}

const ShardId& RendezvousHash::Find(std::string_view key) const {
  const auto key_bytes = BigEndian(KeyHash(key));
  const std::string_view hashed(key_bytes.data(), key_bytes.size());
  size_t best = 0;
  uint64_t best_score = routing::Hash(hashed, seeds_[0]);
  for (size_t i = 1; i < seeds_.size(); ++i) {
    const uint64_t score = routing::Hash(hashed, seeds_[i]);
    if (score <= best_score) continue;  // ids ascend: of equal ones the first wins
    best = i;
    best_score = score;
  }
  return ids_[owners_[best]];
}

}  // namespace shardmanager
