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
class CompletionQueue;
}  // namespace grpc

namespace shardmanager::wire {

using sdk_internal::StubFactory;

// One server's connection. Thread-safe. Lives as long as a call uses it, also when
// the pool has dropped it.
class ServerChannel {
 public:
  explicit ServerChannel(const std::string& endpoint);

  // Waits for the attempt to connect that is under way, at most until `deadline`.
  // False: it failed, or failed just now and is tried again soon, or takes longer;
  // nothing can have been sent. An established connection costs no wait.
  bool WaitConnected(TimePoint deadline);

  // Begins to connect if it is not.
  bool IsConnected();
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

// Thread-safe. At most `limit` connections: past it, the one not used for longest is
// dropped.
class ChannelPool {
 public:
  // Gets each connection that was dropped and that no call uses any more. For who makes
  // asynchronous calls: gRPC has a thread that ends the last one of a connection join itself.
  using Dispose = std::function<void(std::unique_ptr<ServerChannel> channel)>;

  // `dispose` must work as long as any channel is used. Null: they are destroyed where they end.
  explicit ChannelPool(size_t limit, Dispose dispose = nullptr)
      : limit_(limit), dispose_(std::move(dispose)) {}

  std::shared_ptr<ServerChannel> Get(const std::string& endpoint);
  // No map names these any more.
  void Drop(const std::vector<std::string>& endpoints);
  size_t size() const;

 private:
  struct Entry {
    std::shared_ptr<ServerChannel> channel;
    uint64_t last_use = 0;
  };

  std::shared_ptr<ServerChannel> Open(const std::string& endpoint) const;
  void DropOldest();

  const size_t limit_;
  const Dispose dispose_;
  mutable std::mutex mutex_;
  uint64_t uses_ = 0;
  absl::flat_hash_map<std::string, Entry> entries_;
};

}  // namespace shardmanager::wire
