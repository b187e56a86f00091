#include "wire/connection_waits.h"

#include <pthread.h>

#include <optional>
#include <utility>

namespace shardmanager::wire {

ConnectionWaits::ConnectionWaits() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "sm-connects");
    Loop();
  });
}

ConnectionWaits::~ConnectionWaits() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.Shutdown();
  }
  added_.notify_one();
  thread_.join();
}

void ConnectionWaits::Await(std::shared_ptr<ServerChannel> channel, TimePoint deadline, Done done) {
  Look(std::make_unique<Wait>(Wait{std::move(channel), deadline, std::move(done)}),
       /*changed=*/true);
}

// The tag in the queue owns the wait. Once it is there, the other thread may end it before this one
// goes on.
void ConnectionWaits::Look(std::unique_ptr<Wait> wait, bool changed) {
  std::shared_ptr<ServerChannel> channel;
  std::optional<bool> connected = false;
  {
    std::lock_guard lock(mutex_);
    channel = wait->channel;
    if (changed && !stopping_) {
      connected = channel->ConnectedOrNotify(wait->deadline, queue_, wait.get());
    }
    if (!connected) ++in_queue_;
  }
  if (connected) {
    wait->done(*connected);
  } else {
    static_cast<void>(wait.release());
    added_.notify_one();
  }
}

void ConnectionWaits::Loop() {
  void* tag = nullptr;
  bool changed = false;
  while (AwaitSomethingInQueue() && queue_.Next(&tag, &changed)) {
    Look(std::unique_ptr<Wait>(static_cast<Wait*>(tag)), changed);
  }
  while (queue_.Next(&tag, &changed)) {  // its end
  }
}

bool ConnectionWaits::AwaitSomethingInQueue() {
  std::unique_lock lock(mutex_);
  added_.wait(lock, [this] { return in_queue_ > 0 || stopping_; });
  if (in_queue_ == 0) return false;
  --in_queue_;
  return true;
}

}  // namespace shardmanager::wire
