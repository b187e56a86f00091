// What the routing functions have in common: the check of their shards, and the hash.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "shardmanager/routing.h"

namespace shardmanager::routing {

// XXH64(bytes, seed).
uint64_t Hash(std::string_view bytes, uint64_t seed);

// Sorts the shards by id. INVALID_ARGUMENT: there is none, an id is empty or named twice, a weight
// is out of range, or `units_per_weight` times the weights are more than `most_units`.
absl::Status CheckAndSort(std::vector<RoutedShard>& shards, uint64_t units_per_weight,
                          uint64_t most_units);

}  // namespace shardmanager::routing
