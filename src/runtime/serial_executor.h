// The Executor of production: a thread of its own, and the monotonic clock.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "runtime/executor.h"

namespace shardmanager {

// Thread-safe. The destructor runs nothing more: tasks still queued are dropped.
class SerialExecutor final : public Executor {
 public:
  // `name` shows up in debuggers (at most 15 characters).
  explicit SerialExecutor(std::string name);
  ~SerialExecutor() override;
  SerialExecutor(const SerialExecutor&) = delete;
  SerialExecutor& operator=(const SerialExecutor&) = delete;

  void Post(Task task) override;
  void PostAt(TimePoint when, Task task) override;
  // REQUIRES: not stopped, or it would wait for ever.
  void RunThere(const Task& task) override;
  void Stop() override;
  // MonotonicNow().
  TimePoint Now() const override;

  bool OnThread() const { return std::this_thread::get_id() == thread_.get_id(); }
  // Tasks ready to run and not started.
  size_t backlog() const;

 private:
  struct Timed {
    TimePoint when;
    uint64_t order;
    std::shared_ptr<Task> task;
    bool operator>(const Timed& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };

  void Loop();

  std::mutex stop_mutex_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::queue<Task> ready_;
  std::priority_queue<Timed, std::vector<Timed>, std::greater<>> timed_;
  uint64_t order_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace shardmanager
