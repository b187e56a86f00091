// The contract between a core (decides) and its driver (acts).
//
// A core is a class with
//
//   using Event  = std::variant<...>;   // closed: what may happen
//   using Action = std::variant<...>;   // closed: what may be asked for
//   Output<Action> OnEvent(TimePoint now, Event event);
//   Output<Action> OnAdvance(TimePoint now);
//
// and these promises:
//  1. Deterministic: the same events at the same times give the same output.
//  2. Passive: no thread, clock, I/O, logging, or unseeded randomness.
//  3. A spurious OnAdvance changes nothing and asks for nothing new.
//  4. An action that gives or takes the right to serve comes only after the event
//     that says its write is durable.
//
// The driver carries out actions in order, never calls a core from two threads at
// once, never calls it from inside an action, and passes `now` values that do not
// go back.
#pragma once

#include <utility>
#include <vector>

#include "base/time.h"

namespace shardmanager {

template <typename Action>
struct Output {
  // To be carried out in this order.
  std::vector<Action> actions;
  // Call OnAdvance at this time, or earlier; kNever: only events matter.
  TimePoint next_wake = kNever;
};

// std::visit with lambdas.
template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}  // namespace shardmanager
