// An executor that runs when the test says so. Its clock stands still: timers never fire.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "runtime/executor.h"

namespace shardmanager {

class HandExecutor final : public Executor {
 public:
  void Post(Task task) override { tasks_.push_back(std::move(task)); }
  void PostAt(TimePoint when, Task) override { timers.push_back(when); }
  void RunThere(const Task& task) override {
    Run();
    task();
    Run();  // what was posted meanwhile
  }
  void Stop() override { tasks_.clear(); }
  TimePoint Now() const override { return {}; }

  std::vector<TimePoint> timers;  // all that were ever set

  // False: there was none.
  bool RunOne() {
    if (tasks_.empty()) return false;
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    task();
    return true;
  }
  void Run() {
    while (RunOne()) {
    }
  }
  // What was posted before the call.
  void RunPosted() {
    for (size_t left = tasks_.size(); left > 0; --left) RunOne();
  }

 private:
  std::deque<Task> tasks_;
};

}  // namespace shardmanager
