#include "runtime/serial_executor.h"

#include <pthread.h>

#include <algorithm>
#include <future>
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
    // Else it wakes up before that in any case.
    const bool first = timed_.empty() || when < timed_.top().when;
    timed_.push({when, order_++, std::make_shared<Task>(std::move(task))});
    if (!first) return;
  }
  wake_.notify_one();
}

void SerialExecutor::RunThere(const Task& task) {
  std::promise<void> done;
  Post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

TimePoint SerialExecutor::Now() const { return MonotonicNow(); }

void SerialExecutor::Stop() {
  std::lock_guard one_at_a_time(stop_mutex_);
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  // What the dropped tasks hold may be about to die: let it go now.
  decltype(ready_) ready;
  decltype(timed_) timed;
  std::lock_guard lock(mutex_);
  ready.swap(ready_);
  timed.swap(timed_);
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
        // Bounded, as a wait until kNever would overflow the library's clock.
        wake_.wait_for(lock, std::min(timed_.top().when - now, Seconds(3'600)));
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
