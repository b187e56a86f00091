// Virtual time: what happens, and when. Nothing else moves a simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "base/time.h"

namespace shardmanager::simulation {

// Events of one time run in the order in which they were added.
class Schedule {
 public:
  using Task = std::function<void()>;

  TimePoint now() const { return now_; }
  uint64_t ran() const { return ran_; }
  // The time of day, in milliseconds since 1970.
  int64_t WallMs() const { return 1 + now_.time_since_epoch() / Milliseconds(1); }

  void At(TimePoint when, Task task);
  void After(Duration delay, Task task) { At(now_ + delay, std::move(task)); }

  // Runs the next event, if it is not after `until`; otherwise moves to `until`.
  bool RunNext(TimePoint until);

 private:
  struct Entry {
    TimePoint when;
    uint64_t order;
    mutable Task task;  // moved out of the queue's top
    bool operator<(const Entry& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };

  TimePoint now_{};
  uint64_t order_ = 0;
  uint64_t ran_ = 0;
  std::priority_queue<Entry> queue_;
};

}  // namespace shardmanager::simulation
