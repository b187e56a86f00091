// Waits for connections, of any number of callers, with one thread.
#pragma once

#include <grpcpp/completion_queue.h>

#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/time.h"
#include "wire/channel_pool.h"

namespace shardmanager::wire {

// Thread-safe.
class ConnectionWaits {
 public:
  using Done = std::function<void(bool connected)>;

  ConnectionWaits();
  // What is awaited still is told first: no connection.
  ~ConnectionWaits();

  // As ServerChannel::WaitConnected, but calls `done` once: here if the answer is known, else on
  // the thread of this.
  void Await(std::shared_ptr<ServerChannel> channel, TimePoint deadline, Done done);

 private:
  struct Wait {
    std::shared_ptr<ServerChannel> channel;
    TimePoint deadline;
    Done done;
  };

  // Not `changed`: the deadline has come.
  void Look(std::unique_ptr<Wait> wait, bool changed);
  void Loop();

  // Nothing may be added to the queue after its shutdown. And what one thread puts into a wait the
  // other one sees.
  std::mutex mutex_;
  bool stopping_ = false;
  grpc::CompletionQueue queue_;
  std::thread thread_;
};

}  // namespace shardmanager::wire
