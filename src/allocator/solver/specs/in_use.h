// Containers that are not needed should be empty.
#pragma once

#include "allocator/solver/model.h"

namespace shardmanager::solver {

// Cost: of each container on which an object stands, what the table says.
struct InUseSpec {
  Table<ContainerId, double> cost;  // OPTIONAL. 0 to 1e9. Default: 1 each

  absl::Status AddTo(Model& model, Rank rank) const;
};

}  // namespace shardmanager::solver
