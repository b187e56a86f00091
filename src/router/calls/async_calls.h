// The asynchronous calls of one Router, and the threads that serve them while they wait.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "runtime/serial_executor.h"
#include "wire/connection_waits.h"

namespace shardmanager::router_internal {

class AsyncCall;

// Thread-safe. Both threads start with the first asynchronous call, or stream.
class AsyncCalls {
 public:
  AsyncCalls() = default;
  // REQUIRES: StopAll() has returned, or no call was made.
  ~AsyncCalls() = default;

  // Starts the threads, if they are not there.
  void Start();
  // Keeps the call until End. It is cancelled at once if the router is going.
  void Begin(std::shared_ptr<AsyncCall> call);
  // The callback has returned, and nothing of the router is used any more.
  void End(AsyncCall* call);

  // Cancels all calls, waits until their callbacks have returned, and stops the threads.
  void StopAll();

  // REQUIRES: a call has begun.
  SerialExecutor& timers() { return threads_.load(std::memory_order_acquire)->timers; }
  wire::ConnectionWaits& connects() { return threads_.load(std::memory_order_acquire)->connects; }
  // Destroys it on a thread that is not gRPC's.
  void Dispose(std::unique_ptr<wire::ServerChannel> channel);

 private:
  struct Threads {
    SerialExecutor timers{"sm-router"};
    wire::ConnectionWaits connects;
  };

  std::atomic<Threads*> threads_{nullptr};
  std::mutex mutex_;
  std::condition_variable none_;
  bool stopping_ = false;
  absl::flat_hash_map<AsyncCall*, std::shared_ptr<AsyncCall>> calls_;
  std::unique_ptr<Threads> owned_threads_;
};

}  // namespace shardmanager::router_internal
