// Counts asynchronous calls, so that nothing that they use goes before they have ended.
#pragma once

#include <condition_variable>
#include <mutex>

namespace shardmanager::wire {

// Thread-safe.
class CallsUnderWay {
 public:
  void Begin() {
    std::lock_guard lock(mutex_);
    ++calls_;
  }
  // Nothing of the owner is used by this call afterwards.
  void End() {
    std::lock_guard lock(mutex_);
    if (--calls_ == 0) none_.notify_all();
  }
  void AwaitNone() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [this] { return calls_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  int calls_ = 0;
};

}  // namespace shardmanager::wire
