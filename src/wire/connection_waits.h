// Waits for connections, of any number of callers, with one thread.
//
// The thread looks into its completion queue only while a connection is awaited: gRPC has whoever
// looks into a queue read from all sockets of the process, and then wake the thread whose answer
// came, so that a thread that looks for nothing costs each call a switch of threads.
#pragma once

#include <grpcpp/completion_queue.h>

#include <condition_variable>
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
  // False: there will not be one any more.
  bool AwaitSomethingInQueue();

  // Nothing may be added to the queue after its shutdown. And what one thread puts into a wait the
  // other one sees.
  std::mutex mutex_;
  std::condition_variable added_;
  size_t in_queue_ = 0;
  bool stopping_ = false;
  grpc::CompletionQueue queue_;
  std::thread thread_;
};

}  // namespace shardmanager::wire
