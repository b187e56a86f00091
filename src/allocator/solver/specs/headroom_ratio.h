// Room that is of use only together with room of another kind.
#pragma once

#include <string>

#include "allocator/solver/model.h"

namespace shardmanager::solver {

// Where `room` is free in one metric, `ratio` times as much should be in another: free
// cores are worth nothing without free memory.
// Cost: sum over the domains of max(0, ratio * free(metric) - free(with)), where
// free() is capacity - usage, which may be negative.
struct HeadroomRatioSpec {
  std::string scope = "server";
  std::string metric;  // REQUIRED. Example: "cpu".
  std::string with;    // REQUIRED. Example: "memory".
  // 0 to 1,000,000. Example: 2, for two of memory to one of cpu.
  int64_t ratio = 1;

  absl::Status AddTo(Model& model, Rank rank) const;
};

}  // namespace shardmanager::solver
