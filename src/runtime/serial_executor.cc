#include "runtime/serial_executor.h"

#include <pthread.h>

#include <utility>

#include "runtime/clock.h"

namespace shardmanager {

SerialExecutor::SerialExecutor(std::string name) {
  thread_ = std::thread([this, name = std::move(name)] {
    pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
    Loop();
  });
}

SerialExecutor::~SerialExecutor() { Stop(); }

void SerialExecutor::Post(Task task) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    ready_.push(std::move(task));
  }
  wake_.notify_one();
}

void SerialExecutor::PostAt(TimePoint when, Task task) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    timed_.push({when, order_++, std::make_shared<Task>(std::move(task))});
  }
  wake_.notify_one();
}

void SerialExecutor::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

size_t SerialExecutor::backlog() const {
  std::lock_guard lock(mutex_);
  return ready_.size();
}

void SerialExecutor::Loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const TimePoint now = MonotonicNow();
    while (!timed_.empty() && timed_.top().when <= now) {
      ready_.push(std::move(*timed_.top().task));
      timed_.pop();
    }
    if (ready_.empty()) {
      if (timed_.empty()) {
        wake_.wait(lock);
      } else {
        wake_.wait_for(lock, timed_.top().when - now);
      }
      continue;
    }
    Task task = std::move(ready_.front());
    ready_.pop();
    lock.unlock();
    task();
    task = nullptr;  // its captures die outside the lock
    lock.lock();
  }
}

}  // namespace shardmanager
