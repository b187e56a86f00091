// What the routing functions have in common: the check of their shards, and the hash.
#pragma once

// Inlined: a lookup hashes 8 bytes for each shard.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "shardmanager/routing.h"

namespace shardmanager::routing {

inline uint64_t Hash(std::string_view bytes, uint64_t seed) {
  return XXH64(bytes.data(), bytes.size(), seed);
}

// Sorts the shards by id. INVALID_ARGUMENT: there is none, an id is empty or named twice, a weight
// is out of range, or `units_per_weight` times the weights are more than `most_units`.
absl::Status CheckAndSort(std::vector<RoutedShard>& shards, uint64_t units_per_weight,
                          uint64_t most_units);

}  // namespace shardmanager::routing
