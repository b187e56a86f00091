#include "wire/channel_pool.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "runtime/clock.h"

namespace shardmanager::wire {
namespace {

gpr_timespec FromNow(TimePoint deadline) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_micros((deadline - MonotonicNow()).count(), GPR_TIMESPAN));
}

constexpr Duration kKeepAbandoned = Seconds(300);

}  // namespace

bool ServerChannel::WaitConnected(TimePoint deadline) {
  for (;;) {
    const grpc_connectivity_state state = channel_->GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) return true;
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) return false;
    if (!channel_->WaitForStateChange(state, FromNow(deadline))) return false;
  }
}

bool ServerChannel::IsConnected() {
  return channel_->GetState(/*try_to_connect=*/true) == GRPC_CHANNEL_READY;
}

bool ServerChannel::HasConnection() const {
  return channel_->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY;
}

std::optional<bool> ServerChannel::ConnectedOrNotify(TimePoint deadline,
                                                     grpc::CompletionQueue& queue, void* tag) {
  const grpc_connectivity_state state = channel_->GetState(/*try_to_connect=*/true);
  if (state == GRPC_CHANNEL_READY) return true;
  if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) return false;
  channel_->NotifyOnStateChange(state, FromNow(deadline), &queue, tag);
  return std::nullopt;
}

std::shared_ptr<void> ServerChannel::Stub(StubFactory make) {
  std::lock_guard lock(mutex_);
  for (const auto& [maker, stub] : stubs_) {
    if (maker == make) return stub;
  }
  return stubs_.emplace_back(make, make(channel_)).second;
}

std::shared_ptr<ServerChannel> ChannelPool::Get(const std::string& endpoint, uint64_t pick) {
  std::lock_guard lock(mutex_);
  Entry& entry = entries_[endpoint];
  entry.last_use = ++uses_;
  entry.abandoned = kNever;
  if (entry.channels.empty()) entry.channels.resize(options_.per_server);
  std::shared_ptr<ServerChannel>& picked = entry.channels[pick % entry.channels.size()];
  if (picked != nullptr) return picked;
  picked = Open(endpoint);
  std::shared_ptr<ServerChannel> channel = picked;
  if (entries_.size() > limit_) DropOldest();
  return channel;
}

// The one place where a channel to an application's server is made.
std::shared_ptr<grpc::Channel> ChannelPool::Connect(const std::string& endpoint) const {
  grpc::ChannelArguments arguments;
  // A server that restarts is back at once; the back-off of the callers limits the rest.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2'000);  // the connect time-out
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  // gRPC would have channels that are alike share one connection.
  if (options_.per_server > 1) arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (options_.arguments) options_.arguments(arguments);
  return open_(endpoint, std::move(arguments));
}

std::shared_ptr<ServerChannel> ChannelPool::Open(const std::string& endpoint) const {
  auto channel = std::make_unique<ServerChannel>(Connect(endpoint));
  if (dispose_ == nullptr) return channel;
  return {channel.release(), [dispose = dispose_](ServerChannel* unused) {
            dispose(std::unique_ptr<ServerChannel>(unused));
          }};
}

void ChannelPool::DropOldest() {
  const auto oldest = std::min_element(
      entries_.begin(), entries_.end(),
      [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; });
  entries_.erase(oldest);
}

bool ChannelPool::Entry::HasConnection() const {
  return std::any_of(channels.begin(), channels.end(), [](const auto& channel) {
    return channel != nullptr && channel->HasConnection();
  });
}

void ChannelPool::Drop(const std::vector<std::string>& endpoints, TimePoint now) {
  std::vector<Entry> dropped;  // destroyed outside the lock
  std::lock_guard lock(mutex_);
  for (const std::string& endpoint : endpoints) {
    const auto entry = entries_.find(endpoint);
    if (entry != entries_.end()) entry->second.abandoned = now;
  }
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto at = entry++;
    if (at->second.abandoned == kNever) continue;
    if (now - at->second.abandoned < kKeepAbandoned && at->second.HasConnection()) continue;
    dropped.push_back(std::move(at->second));
    entries_.erase(at);
  }
}

size_t ChannelPool::size() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace shardmanager::wire
