// Where a shell's tasks run, and what time it is there: the one door to threads and
// clocks for whatever must also run under a simulator's virtual time.
#pragma once

#include <functional>

#include "base/time.h"

namespace shardmanager {

// Runs what is posted to it, one task after another. Thread-safe.
class Executor {
 public:
  using Task = std::function<void()>;

  virtual ~Executor() = default;

  virtual void Post(Task task) = 0;
  // Runs the task at `when` (Now() scale) or soon after.
  virtual void PostAt(TimePoint when, Task task) = 0;
  // Runs the task after those that were posted before, and waits for it.
  // REQUIRES: not called from a task.
  virtual void RunThere(const Task& task) = 0;
  // Finishes the task that runs, destroys the rest; later ones are dropped. Idempotent.
  // REQUIRES: not called from a task.
  virtual void Stop() = 0;

  virtual TimePoint Now() const = 0;
};

}  // namespace shardmanager
