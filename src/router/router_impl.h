// What the apps of one Router share.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/app_router.h"
#include "router/calls/async_calls.h"
#include "router/map_cache.h"
#include "shardmanager/router.h"
#include "wire/channel_pool.h"
#include "wire/discovery_client.h"
#include "wire/transport.h"

namespace shardmanager::router_internal {

// Thread-safe.
class RouterImpl {
 public:
  explicit RouterImpl(RouterOptions options);
  ~RouterImpl();

  // The app's router; subscribes at first sight. Apps are never forgotten, so finding
  // one takes no lock.
  AppRouter& App(std::string_view app);

  const RouterOptions& options() const { return options_; }
  // For the connections to an app's servers.
  std::unique_ptr<wire::ChannelPool> NewChannels(const std::string& app);
  bool has_several_channels() const { return channels_per_server_ > 1; }
  // OK: connections can be made. Else why RouterOptions::security cannot be used.
  const absl::Status& security() const { return transport_.status(); }
  AsyncCalls& async_calls() { return async_calls_; }
  uint64_t NextRandom();

  // Null when there is no discovery to ask.
  std::unique_ptr<wire::MapWatch> Watch(const std::string& app, wire::MapSink& sink);
  // Null: maps are not kept.
  router::MapCache* cache() { return cache_.get(); }
  bool has_discovery() const { return !options_.discovery.empty(); }
  void OnMapUpdate() { ++counters_.map_updates; }

  struct Counters {
    std::atomic<uint64_t> calls{0};
    std::atomic<uint64_t> attempts{0};
    std::atomic<uint64_t> refused{0};
    std::atomic<uint64_t> transport_errors{0};
    std::atomic<uint64_t> failed_calls{0};
    std::atomic<uint64_t> map_updates{0};
    std::atomic<uint64_t> held_back{0};
    std::atomic<uint64_t> left_out{0};
    std::atomic<uint64_t> hedges{0};
    std::atomic<uint64_t> hedges_won{0};
  };
  Counters& counters() { return counters_; }

 private:
  struct Entry {
    Entry(RouterImpl& router, std::string_view name, Entry* rest) : app(router, name), next(rest) {}
    AppRouter app;
    Entry* const next;
  };

  static constexpr size_t kMostChannels = 4'096;
  static constexpr int kMostPerServer = 64;

  AppRouter* Find(size_t bucket, std::string_view app) const;

  const RouterOptions options_;
  Counters counters_;
  AsyncCalls async_calls_;
  const size_t channels_per_server_;
  const absl::StatusOr<std::shared_ptr<const wire::Transport>> transport_;
  const std::unique_ptr<router::MapCache> cache_;
  std::unique_ptr<wire::DiscoveryClient> discovery_;

  // A hash table that only grows: readers follow pointers, writers add in front.
  std::mutex mutex_;
  std::array<std::atomic<Entry*>, 64> buckets_{};
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace shardmanager::router_internal
