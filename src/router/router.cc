#include "shardmanager/router.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "router/deadlines.h"
#include "router/router_impl.h"
#include "runtime/clock.h"

namespace shardmanager {
namespace router_internal {
namespace {

using TransportOr = absl::StatusOr<std::shared_ptr<const wire::Transport>>;

TransportOr TransportOf(const RouterOptions& options) {
  auto transport = wire::Transport::Make(options.security, options.cell, {security::Anybody()});
  if (transport.ok()) return transport;
  return absl::Status(
      transport.status().code(),
      absl::StrCat("RouterOptions::security: ", std::string(transport.status().message())));
}

std::unique_ptr<wire::DiscoveryClient> Discovery(const RouterOptions& options,
                                                 const TransportOr& transport) {
  if (options.discovery.empty() || !transport.ok()) return nullptr;
  wire::DiscoveryClientOptions client;
  client.endpoints = options.discovery;
  client.subscriber = options.subscriber;
  client.cell = options.cell;
  client.transport = *transport;
  return std::make_unique<wire::DiscoveryClient>(std::move(client));
}

std::unique_ptr<router::MapCache> Cache(const RouterOptions& options) {
  if (options.map_cache.empty()) return nullptr;
  return std::make_unique<router::MapCache>(
      router::MapCacheOptions{.directory = options.map_cache, .cell = options.cell});
}

}  // namespace

RouterImpl::RouterImpl(RouterOptions options)
    : options_(std::move(options)),
      channels_per_server_(
          static_cast<size_t>(std::clamp(options_.channels_per_server, 1, kMostPerServer))),
      transport_(TransportOf(options_)),
      cache_(Cache(options_)),
      discovery_(Discovery(options_, transport_)) {}

std::unique_ptr<wire::ChannelPool> RouterImpl::NewChannels(const std::string& app) {
  wire::OpenChannel open;
  if (options_.credentials != nullptr) {
    open = [credentials = options_.credentials](const std::string& endpoint,
                                                grpc::ChannelArguments arguments) {
      return wire::OpenWith(credentials, endpoint, std::move(arguments));
    };
  } else if (transport_.ok()) {
    open = (*transport_)->OpenerTo(security::AServerOf(app));
  }
  return std::make_unique<wire::ChannelPool>(
      kMostChannels / channels_per_server_, std::move(open),
      [this](std::unique_ptr<wire::ServerChannel> channel) {
        async_calls_.Dispose(std::move(channel));
      },
      wire::ChannelOptions{.per_server = channels_per_server_,
                           .arguments = options_.channel_arguments});
}

RouterImpl::~RouterImpl() {
  async_calls_.StopAll();
  if (cache_ == nullptr) return;
  // What lookups have seen is kept: no map may come after the cache has stopped. And it
  // stops before the apps go that it calls.
  for (const auto& entry : entries_) entry->app.EndWatch();
  cache_->Stop();
}

AppRouter& RouterImpl::App(std::string_view app) {
  const size_t bucket = std::hash<std::string_view>()(app) % buckets_.size();
  if (AppRouter* found = Find(bucket, app)) return *found;
  std::lock_guard lock(mutex_);
  if (AppRouter* found = Find(bucket, app)) return *found;
  Entry* first = buckets_[bucket].load(std::memory_order_relaxed);
  entries_.push_back(std::make_unique<Entry>(*this, app, first));
  buckets_[bucket].store(entries_.back().get(), std::memory_order_release);
  return entries_.back()->app;
}

AppRouter* RouterImpl::Find(size_t bucket, std::string_view app) const {
  Entry* entry = buckets_[bucket].load(std::memory_order_acquire);
  while (entry != nullptr && entry->app.name() != app) entry = entry->next;
  return entry == nullptr ? nullptr : &entry->app;
}

uint64_t RouterImpl::NextRandom() {
  static std::atomic<uint64_t> threads{0};
  thread_local Random random(static_cast<uint64_t>(MonotonicNow().time_since_epoch().count()) +
                             (++threads << 40));
  return random.Next();
}

std::unique_ptr<wire::MapWatch> RouterImpl::Watch(const std::string& app, wire::MapSink& sink) {
  if (discovery_ == nullptr) return nullptr;
  return discovery_->Watch(AppName(app), std::nullopt, sink);
}

}  // namespace router_internal

Router::Router(RouterOptions options)
    : impl_(std::make_unique<router_internal::RouterImpl>(std::move(options))) {}

Router::~Router() = default;

router_internal::AppRouter& Router::App(std::string_view app) { return impl_->App(app); }

absl::Status Router::WaitReady(std::string_view app, std::chrono::milliseconds timeout) {
  return impl_->App(app).WaitReady(router_internal::After(MonotonicNow(), timeout));
}

RouterStats Router::stats() const {
  const auto& counters = impl_->counters();
  return {.calls = counters.calls,
          .attempts = counters.attempts,
          .refused = counters.refused,
          .transport_errors = counters.transport_errors,
          .failed_calls = counters.failed_calls,
          .map_updates = counters.map_updates,
          .held_back = counters.held_back,
          .left_out = counters.left_out,
          .hedges = counters.hedges,
          .hedges_won = counters.hedges_won};
}

}  // namespace shardmanager
