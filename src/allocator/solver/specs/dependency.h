// Groups that need others near them.
#pragma once

#include <string>
#include <vector>

#include "allocator/solver/model.h"

namespace shardmanager::solver {

// Wherever (in which domain) a group has an object, the groups that it needs have one
// too. Cost: 1 for each domain and each group that is missing there.
struct DependencySpec {
  std::string scope;                            // REQUIRED. Example: "datacenter".
  Table<GroupId, std::vector<GroupId>> needed;  // REQUIRED. By the group that needs them.

  absl::Status AddTo(Model& model, Rank rank) const;
};

}  // namespace shardmanager::solver
