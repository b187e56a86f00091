// The loop of who waits on the caller's own thread for an attempt to succeed.
#pragma once

#include "router/calls/call_state.h"
#include "runtime/clock.h"

namespace shardmanager::router_internal {

// Waits as `step` says, if it does.
inline router::CallMachine::Step WaitHere(CallState& state, router::CallMachine::Step step) {
  const auto changed = [&](const router::ShardMap* newest) { return state.ServersChanged(newest); };
  while (step.next == router::CallMachine::Next::kWaitThenAttempt) {
    state.LookAtParent();
    const TimePoint now = MonotonicNow();
    const bool over = state.machine().cancelled() || now >= step.until;
    if (over || state.app().WaitForMap(state.NextLook(now, step.until), changed)) {
      step = state.machine().OnWaited(MonotonicNow());
    }
  }
  return step;
}

// `attempt`: makes one at state.route(), and returns what the machine says of its end. Returns what
// comes after the last one; nothing: to wait would not help, see CallState::Nothing().
template <typename Attempt>
std::optional<router::CallMachine::Next> RunHere(CallState& state, router::CallMachine::Step step,
                                                 const Attempt& attempt) {
  step = WaitHere(state, step);
  while (step.next == router::CallMachine::Next::kAttempt) {
    const CallState::Found found = state.Look();
    if (found == CallState::Found::kNothing) return std::nullopt;
    step =
        found == CallState::Found::kServer ? attempt() : state.machine().OnNobody(MonotonicNow());
    step = WaitHere(state, step);
  }
  state.OnFinish();
  return step.next;
}

}  // namespace shardmanager::router_internal
