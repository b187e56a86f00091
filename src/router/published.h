// A value that one thread replaces now and then and many read all the time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace shardmanager::router {

// How a reader gets the current value without a lock, and when an old one goes:
// each thread keeps a shared_ptr to the value that it read last, with the number of
// the update that brought it. As long as that number is the current one, reading is
// one atomic load (acquire, so plain on x86) and one comparison; the shared_ptr's
// count is not touched, so readers do not share a cache line that anybody writes.
// After an update each thread takes the mutex once to fetch the new value. An old
// value is freed when the last thread that read it reads again, or ends; a thread that
// never reads again keeps one value alive.
template <typename T>
class Published {
 public:
  Published() : id_(++ids_) {}
  Published(const Published&) = delete;
  Published& operator=(const Published&) = delete;

  void Set(std::shared_ptr<const T> value) {
    std::shared_ptr<const T> old;  // freed outside the lock
    std::lock_guard lock(mutex_);
    old = std::exchange(value_, std::move(value));
    update_.store(update_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // Null before the first Set. The reference is good until this thread's next Get of
  // any Published<T>.
  const std::shared_ptr<const T>& Get() const {
    Slot& slot = slots_[id_ % slots_.size()];
    const uint64_t update = update_.load(std::memory_order_acquire);
    if (slot.id != id_ || slot.update != update) [[unlikely]]
      Fetch(slot);
    return slot.value;
  }

 private:
  struct Slot {
    uint64_t id = 0;
    uint64_t update = 0;
    std::shared_ptr<const T> value;
  };

  void Fetch(Slot& slot) const {
    std::shared_ptr<const T> old = std::move(slot.value);
    std::lock_guard lock(mutex_);
    slot.id = id_;
    slot.update = update_.load(std::memory_order_relaxed);
    slot.value = value_;
  }

  static inline std::atomic<uint64_t> ids_{0};
  // More values than slots in one thread's use: they fetch more often, no more.
  static inline thread_local std::array<Slot, 16> slots_;

  const uint64_t id_;  // never used again, so a slot cannot be taken for another's
  std::atomic<uint64_t> update_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<const T> value_;
};

}  // namespace shardmanager::router
