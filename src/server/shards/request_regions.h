// From which regions the requests of each shard come, as their clients say.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace shardmanager::server {

// Requests by shard and region. Thread-safe. (One request in eight comes here: locks do, in
// stripes, so that requests for different shards seldom meet.)
class RequestRegions {
 public:
  // Whatever clients say takes no more room than this.
  static constexpr size_t kMostRegions = 16;  // of a shard
  static constexpr size_t kMostBytes = 63;    // of a region's name

  void Count(std::string_view shard, std::string_view region) {
    if (region.empty() || region.size() > kMostBytes) return;
    Stripe& stripe = Of(shard);
    std::lock_guard lock(stripe.mutex);
    auto of_shard = stripe.shards.find(shard);
    if (of_shard == stripe.shards.end()) of_shard = stripe.shards.emplace(shard, Counts()).first;
    Counts& counts = of_shard->second;
    const auto counted = counts.find(region);
    if (counted != counts.end()) {
      ++counted->second;
    } else if (counts.size() < kMostRegions) {
      counts.emplace(region, 1);
    }
  }
  // Those since the last call.
  std::map<std::string, uint64_t> Take(std::string_view shard) {
    Stripe& stripe = Of(shard);
    std::lock_guard lock(stripe.mutex);
    const auto found = stripe.shards.find(shard);
    if (found == stripe.shards.end()) return {};
    std::map<std::string, uint64_t> taken(found->second.begin(), found->second.end());
    stripe.shards.erase(found);
    return taken;
  }

 private:
  using Counts = std::map<std::string, uint64_t, std::less<>>;
  struct Stripe {
    std::mutex mutex;
    std::map<std::string, Counts, std::less<>> shards;
  };

  Stripe& Of(std::string_view shard) {
    return stripes_[std::hash<std::string_view>()(shard) % stripes_.size()];
  }

  std::array<Stripe, 16> stripes_;
};

}  // namespace shardmanager::server
