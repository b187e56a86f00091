// No group should move more than the others.
#pragma once

#include "allocator/solver/model.h"

namespace shardmanager::solver {

// Cost: the most objects of any one group that are away from their starts. Objects
// that start nowhere do not count.
struct GroupMoveSpec {
  absl::Status AddTo(Model& model, Rank rank) const;
};

}  // namespace shardmanager::solver
