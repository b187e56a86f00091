// Connections to application servers, and the stubs on them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/time.h"
#include "shardmanager/stub_inl.h"

namespace grpc {
class Channel;
class ChannelArguments;
class CompletionQueue;
}  // namespace grpc

namespace shardmanager::wire {

using sdk_internal::StubFactory;

// One server's connection. Thread-safe. Lives as long as a call uses it, also when
// the pool has dropped it.
class ServerChannel {
 public:
  explicit ServerChannel(std::shared_ptr<grpc::Channel> channel) : channel_(std::move(channel)) {}

  // Waits for the attempt to connect that is under way, at most until `deadline`.
  // False: it failed, or failed just now and is tried again soon, or takes longer;
  // nothing can have been sent. An established connection costs no wait.
  bool WaitConnected(TimePoint deadline);

  // Begins to connect if it is not.
  bool IsConnected();
  // Does not.
  bool HasConnection() const;
  // WaitConnected without a wait. Nothing: the answer is not known yet; look again when `tag` comes
  // out of the queue, with false if it is by the deadline.
  std::optional<bool> ConnectedOrNotify(TimePoint deadline, grpc::CompletionQueue& queue,
                                        void* tag);

  // The stub that `make` makes, made once.
  std::shared_ptr<void> Stub(StubFactory make);

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  std::mutex mutex_;
  std::vector<std::pair<StubFactory, std::shared_ptr<void>>> stubs_;
};

// How the application's servers are connected to, where it is not as by default.
struct ChannelOptions {
  // Connections to each server. REQUIRES: at least 1.
  size_t per_server = 1;
  // Called before each channel is made, with the arguments that it has by default.
  std::function<void(grpc::ChannelArguments& arguments)> arguments = nullptr;
};

// Makes the channel to an endpoint: who must be there, and with which credentials.
using OpenChannel = std::function<std::shared_ptr<grpc::Channel>(const std::string& endpoint,
                                                                 grpc::ChannelArguments arguments)>;

// Thread-safe. Has connections to at most `limit` servers: past it, those not used for longest are
// dropped.
class ChannelPool {
 public:
  // Gets each connection that was dropped and that no call uses any more. For who makes
  // asynchronous calls: gRPC has a thread that ends the last one of a connection join itself.
  using Dispose = std::function<void(std::unique_ptr<ServerChannel> channel)>;

  // `dispose` must work as long as any channel is used. Null: they are destroyed where they end.
  ChannelPool(size_t limit, OpenChannel open, Dispose dispose = nullptr,
              ChannelOptions options = {})
      : limit_(limit),
        open_(std::move(open)),
        dispose_(std::move(dispose)),
        options_(std::move(options)) {}

  // `pick`: which of several connections, modulo their number.
  std::shared_ptr<ServerChannel> Get(const std::string& endpoint, uint64_t pick = 0);
  // No map names these any more. Those with a connection are kept for some minutes, as long as it
  // stands: a server that was emptied is often back, and TLS takes its time to connect.
  void Drop(const std::vector<std::string>& endpoints, TimePoint now);
  // Servers.
  size_t size() const;

 private:
  struct Entry {
    std::vector<std::shared_ptr<ServerChannel>> channels;  // null: not used yet
    uint64_t last_use = 0;
    TimePoint abandoned = kNever;  // when no map named it any more, and it was not used since
    bool HasConnection() const;
  };

  std::shared_ptr<grpc::Channel> Connect(const std::string& endpoint) const;
  std::shared_ptr<ServerChannel> Open(const std::string& endpoint) const;
  void DropOldest();

  const size_t limit_;
  const OpenChannel open_;
  const Dispose dispose_;
  const ChannelOptions options_;
  mutable std::mutex mutex_;
  uint64_t uses_ = 0;
  absl::flat_hash_map<std::string, Entry> entries_;
};

}  // namespace shardmanager::wire
