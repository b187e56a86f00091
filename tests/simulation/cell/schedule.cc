#include "tests/simulation/cell/schedule.h"

#include <algorithm>
#include <utility>

namespace shardmanager::simulation {

void Schedule::At(TimePoint when, Task task) {
  queue_.push({std::max(when, now_), order_++, std::move(task)});
}

bool Schedule::RunNext(TimePoint until) {
  if (queue_.empty() || queue_.top().when > until) {
    now_ = std::max(now_, until);
    return false;
  }
  const Task task = std::move(queue_.top().task);
  now_ = queue_.top().when;
  queue_.pop();
  ++ran_;
  task();
  return true;
}

}  // namespace shardmanager::simulation
