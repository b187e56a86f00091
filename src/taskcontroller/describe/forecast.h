// When the container operations of an app will be over. Pure arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"

namespace shardmanager::taskcontroller {

// What is left to do for an app, over all its rollouts but those whose manager is silent. "The
// usual time" of an operation is the mean of those of its rollout that finished, or, while none
// has, what its manager expects.
struct WorkLeft {
  uint32_t under_way = 0;
  uint32_t waiting = 0;
  Duration usual_times{};       // of all these operations, added
  Duration longest_usual{};     // of one of them
  bool measured = true;         // all usual times are means of operations that finished
  Duration last_ends_in{};      // until each operation under way has had its usual time; may be < 0
  double mean_at_once = 0;      // so many were under way at once so far
  uint32_t may_be_at_once = 0;  // so many may be under way at once now
  // Since an operation got on: it came under way, was approved, began or was finished. Nothing:
  // none has yet.
  std::optional<Duration> no_progress_for;
  std::string held_back;  // why nothing is approved; empty: something may be
};

struct Forecast {
  std::optional<Duration> ends_in;  // nothing: not known
  std::string reason;               // what it rests on, or why it is not known
};

// By Little's law: what is left takes (operations left) / (how many are under way at once) * (the
// time of one). It says nothing where nobody can know: an app that does not go on at all will not
// be ready at the pace of the past. REQUIRES: something is left.
Forecast ForecastOf(const WorkLeft& work);

// "45 s", "6 min".
std::string SpanText(Duration span);

}  // namespace shardmanager::taskcontroller
