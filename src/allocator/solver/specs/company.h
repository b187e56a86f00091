// What may stand beside what.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/solver/model.h"

namespace shardmanager::solver {

// In each domain where a group has an object, another group has at most so many. Cost: for each
// limit, the objects above it, summed over the domains. (Two limits of one pair both count.)
struct CompanySpec {
  struct Limit {
    GroupId group;      // where this one is,
    GroupId with;       // of this other one
    uint32_t most = 0;  // there are so many at the most
  };
  std::string scope = "server";
  std::vector<Limit> limits;

  absl::Status AddTo(Model& model, Rank rank) const;
};

}  // namespace shardmanager::solver
