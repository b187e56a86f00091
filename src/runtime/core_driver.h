// Runs one core (base/state_machine.h) on an Executor.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/state_machine.h"
#include "runtime/executor.h"

namespace shardmanager {

// Feeds events in, carries actions out in order, wakes the core when it asked.
// All on the executor's thread. Destroy it there, or after the executor has stopped:
// what it had posted then does nothing.
template <typename Core>
class CoreDriver {
 public:
  using Event = typename Core::Event;
  using Action = typename Core::Action;
  // Must not call back into the driver except through Post().
  using Perform = std::function<void(Action&)>;

  // `from`: what the core is constructed from.
  template <typename From>
  CoreDriver(Executor& executor, From&& from, Perform perform)
      : executor_(executor), core_(std::forward<From>(from)), perform_(std::move(perform)) {}

  // From any thread.
  void Post(Event event) {
    executor_.Post([this, alive = Alive(), event = std::move(event)]() mutable {
      if (alive.expired()) return;
      Carry(core_.OnEvent(executor_.Now(), std::move(event)));
    });
  }

  // REQUIRES: on the executor's thread, not inside Perform.
  void Handle(Event event) { Carry(core_.OnEvent(executor_.Now(), std::move(event))); }

  // REQUIRES: on the executor's thread.
  const Core& core() const { return core_; }

 private:
  std::weak_ptr<void> Alive() const { return alive_; }

  void Carry(Output<Action> output) {
    for (Action& action : output.actions) perform_(action);
    Schedule(output.next_wake);
  }

  void Schedule(TimePoint wake) {
    wanted_ = std::min(wanted_, wake);
    // A timer that fires earlier comes back here: the timers that wait stay few,
    // however often the core changes its mind.
    const bool covered = !timers_.empty() && *timers_.begin() <= wanted_;
    if (wanted_ == kNever || covered) return;
    timers_.insert(wanted_);
    executor_.PostAt(wanted_, [this, alive = Alive(), at = wanted_] {
      if (alive.expired()) return;
      timers_.erase(at);
      Wake();
    });
  }

  void Wake() {
    const TimePoint now = executor_.Now();
    if (now < wanted_) return Schedule(kNever);
    wanted_ = kNever;
    Carry(core_.OnAdvance(now));
  }

  Executor& executor_;
  Core core_;
  Perform perform_;
  TimePoint wanted_ = kNever;   // when the core wants to be woken
  std::set<TimePoint> timers_;  // posted and not fired
  const std::shared_ptr<void> alive_ = std::make_shared<char>();
};

}  // namespace shardmanager
