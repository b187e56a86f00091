// No domain holds more than it can.
#pragma once

#include <string>

#include "allocator/solver/model.h"

namespace shardmanager::solver {

// Cost: what is above the limit, as a fraction of the domain's capacity, summed over
// the domains. A scope's capacity is the sum of its containers'.
struct CapacitySpec {
  std::string scope = "server";
  std::string metric;  // REQUIRED. Example: "cpu".
  // The part of the capacity that may be used. 0 to 1.
  double limit = 1.0;
  // Objects that left their start still count there, as their load does while a move
  // is in flight.
  bool transient = false;

  absl::Status AddTo(Model& model, Rank rank) const;
};

// The utilization that no domain should pass: CapacitySpec as a goal, with a limit of
// its own.
struct UtilizationSpec {
  std::string scope = "server";
  std::string metric;  // REQUIRED.
  double threshold = 0.9;

  absl::Status AddTo(Model& model, Rank rank) const;
};

}  // namespace shardmanager::solver
