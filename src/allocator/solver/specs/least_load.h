// No domain carries less than it should.
#pragma once

#include <string>

#include "allocator/solver/model.h"

namespace shardmanager::solver {

// Cost: the load that is missing to `least` of the domain's capacity (rounded up to whole units),
// summed over the domains, as a fraction of their average capacity. Every container needs a
// capacity; of closed ones nothing is wanted.
struct LeastLoadSpec {
  std::string scope = "server";
  std::string metric;  // REQUIRED. Example: "cpu".
  double least = 0;    // REQUIRED. The part of the capacity that is to be used. 0 to 1.

  absl::Status AddTo(Model& model, Rank rank) const;
};

}  // namespace shardmanager::solver
