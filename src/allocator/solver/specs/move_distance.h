// Moves cost by how far they go.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "allocator/solver/model.h"

namespace shardmanager::solver {

// Cost of each object that is away from its start: what the table says for its start
// and where it is. Objects that start nowhere cost nothing.
struct MoveDistanceSpec {
  // REQUIRED. Row-major: cost[from * containers + to]. 0 and more. Shared, as it can be
  // large.
  std::shared_ptr<const std::vector<int32_t>> cost;

  absl::Status AddTo(Model& model, Rank rank) const;
};

}  // namespace shardmanager::solver
