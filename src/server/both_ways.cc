// The two directions of a stream that is sent on.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "shardmanager/server.h"

namespace shardmanager::server_internal {
namespace {

// How long a client that has been answered to the end may take to notice, and say so by its
// next message or by ending its side; a blocking server is told in no other way.
constexpr std::chrono::seconds kLastWord{1};

}  // namespace

grpc::Status RunBothWays(absl::FunctionRef<void()> requests,
                         absl::FunctionRef<grpc::Status()> answers,
                         absl::FunctionRef<void()> break_off) {
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  std::thread thread([&] {
    requests();
    const std::lock_guard lock(mutex);
    ended = true;
    changed.notify_all();
  });
  grpc::Status status = answers();
  {
    std::unique_lock lock(mutex);
    if (!changed.wait_for(lock, kLastWord, [&] { return ended; })) break_off();
  }
  thread.join();
  return status;
}

}  // namespace shardmanager::server_internal
