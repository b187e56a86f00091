// Keys and shards as applications have them: regular, so that a weak hash shows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "shardmanager/routing.h"

namespace shardmanager::routing {

inline std::vector<std::string> CountedKeys(size_t count) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < count; ++i) keys.push_back(absl::StrFormat("user-%06d", i));
  return keys;
}

// 8 bytes, the most significant one first.
inline std::vector<std::string> IntegerKeys(size_t count) {
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < count; ++i) {
    std::string key(8, '\0');
    for (size_t b = 0; b < 8; ++b) key[b] = static_cast<char>(i >> (56 - 8 * b));
    keys.push_back(key);
  }
  return keys;
}

inline std::vector<RoutedShard> CountedShards(size_t count) {
  std::vector<RoutedShard> shards;
  for (size_t i = 0; i < count; ++i) {
    shards.push_back({.id = ShardId(absl::StrFormat("shard-%d", i))});
  }
  return shards;
}

// Keys of each shard, in the order of `shards`.
template <typename Function>
std::vector<uint64_t> CountKeys(const Function& function, const std::vector<RoutedShard>& shards,
                                const std::vector<std::string>& keys) {
  std::vector<uint64_t> counts(shards.size());
  for (const std::string& key : keys) {
    const ShardId& found = function.Find(key);
    for (size_t i = 0; i < shards.size(); ++i) counts[i] += shards[i].id == found;
  }
  return counts;
}

}  // namespace shardmanager::routing
