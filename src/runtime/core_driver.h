// Runs one core (base/state_machine.h) on a SerialExecutor.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "base/state_machine.h"
#include "runtime/clock.h"
#include "runtime/serial_executor.h"

namespace shardmanager {

// Feeds events in, carries actions out in order, wakes the core when it asked.
// All on the executor's thread, which must be stopped before this is destroyed.
template <typename Core>
class CoreDriver {
 public:
  using Event = typename Core::Event;
  using Action = typename Core::Action;
  // Must not call back into the driver except through Post().
  using Perform = std::function<void(Action&)>;

  CoreDriver(SerialExecutor& executor, Core core, Perform perform)
      : executor_(executor), core_(std::move(core)), perform_(std::move(perform)) {}

  // From any thread.
  void Post(Event event) {
    executor_.Post([this, event = std::move(event)]() mutable {
      Carry(core_.OnEvent(MonotonicNow(), std::move(event)));
    });
  }

  // REQUIRES: on the executor's thread, not inside Perform.
  void Handle(Event event) { Carry(core_.OnEvent(MonotonicNow(), std::move(event))); }

  // REQUIRES: on the executor's thread.
  const Core& core() const { return core_; }

 private:
  void Carry(Output<Action> output) {
    for (Action& action : output.actions) perform_(action);
    Schedule(output.next_wake);
  }

  void Schedule(TimePoint wake) {
    if (wake == kNever || wake >= scheduled_) return;
    scheduled_ = wake;
    executor_.PostAt(wake, [this, wake] {
      if (scheduled_ == wake) scheduled_ = kNever;
      Carry(core_.OnAdvance(MonotonicNow()));
    });
  }

  SerialExecutor& executor_;
  Core core_;
  Perform perform_;
  TimePoint scheduled_ = kNever;
};

}  // namespace shardmanager
