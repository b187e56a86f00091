// What fails over together fails over to many places.
#pragma once

#include "allocator/solver/model.h"

namespace shardmanager::solver {

// No two containers share more than so many groups, so that when one is lost, its
// load goes to many others at once (Shard Manager, SOSP '21, section 5.1, goal 7).
// Cost: over all pairs of containers, what they share above `most_shared`; they share
// a group for each object of it on the one with an object of it on the other.
struct ParallelFailoverSpec {
  // 1 and more. What cannot be avoided on average, doubled, is a good choice:
  // 2 * pairs of objects / pairs of containers, rounded up.
  uint32_t most_shared = 1;
  // Larger groups are spread by their size; they are left alone.
  static constexpr uint32_t kLargestGroup = 16;

  absl::Status AddTo(Model& model, Rank rank) const;
};

}  // namespace shardmanager::solver
