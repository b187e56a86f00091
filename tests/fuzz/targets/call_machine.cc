// One call through the router: any ends of attempts at any times keep the five rules of
// call_machine.h.
#include "router/call_machine.h"

#include "tests/fuzz/fuzz_target.h"

namespace shardmanager::router {
namespace {

constexpr Duration kLongestWait = Milliseconds(50);

struct Trial {
  TimePoint now{};
  TimePoint deadline;
  bool idempotent = false;
  bool maybe_processed = false;
};

// Follows one step; false: the call is over.
bool Follow(const CallMachine::Step& step, Trial& trial) {
  switch (step.next) {
    case CallMachine::Next::kAttempt:
      SM_CHECK(trial.now < trial.deadline, "no attempt after the deadline");
      SM_CHECK(trial.idempotent || !trial.maybe_processed, "nothing is processed twice");
      return true;
    case CallMachine::Next::kWaitThenAttempt:
      SM_CHECK(trial.idempotent || !trial.maybe_processed, "nothing is processed twice");
      SM_CHECK(step.until <= trial.deadline, "no wait beyond the deadline");
      return true;
    default:
      return false;
  }
}

}  // namespace

SM_FUZZ_TARGET(call_machine) {
  Trial trial;
  trial.deadline = TimePoint{} + Milliseconds(static_cast<int64_t>(input.Number() % 100'000));
  trial.idempotent = input.Flag();
  CallMachine machine({.begin = {},
                       .deadline = trial.deadline,
                       .idempotent = trial.idempotent,
                       .seed = input.Number()});
  while (!input.empty()) {
    const TimePoint attempt_until = machine.AttemptDeadline(trial.now);
    SM_CHECK(attempt_until <= trial.deadline || trial.now > trial.deadline,
             "an attempt ends with its call");
    trial.now += Duration(static_cast<int64_t>(input.Number() % 10'000'000));
    CallMachine::Step step{};
    if (input.Below(4) == 0) {
      step = machine.OnNobody(trial.now);
    } else {
      const auto end = static_cast<AttemptEnd>(input.Below(6));
      trial.maybe_processed |= end == AttemptEnd::kBroken || end == AttemptEnd::kTimedOut ||
                               end == AttemptEnd::kSuperseded;
      step = machine.OnAttemptEnd(trial.now, end);
      if (end == AttemptEnd::kAnswered) {
        SM_CHECK(step.next == CallMachine::Next::kFinish, "an answer ends the call");
      }
      const bool waits = step.next == CallMachine::Next::kWaitThenAttempt;
      SM_CHECK(!waits || step.until <= trial.now + kLongestWait, "waits are short");
    }
    if (!Follow(step, trial)) return;
    if (step.next != CallMachine::Next::kWaitThenAttempt) continue;
    trial.now = input.Flag() ? std::max(trial.now, step.until) : trial.now;
    if (!Follow(machine.OnWaited(trial.now), trial)) return;
  }
}

}  // namespace shardmanager::router
