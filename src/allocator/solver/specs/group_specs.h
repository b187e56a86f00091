// How the objects of a group stand to each other, and where they would rather be.
#pragma once

#include <string>
#include <vector>

#include "allocator/solver/model.h"

namespace shardmanager::solver {

// At most so many objects of a group in one domain. Cost: 1 for each above it.
struct ExclusionSpec {
  std::string scope = "server";
  uint32_t most = 1;
  // OPTIONAL. For each group instead of `most`; GroupRule::kNotForGroup: no limit.
  Table<GroupId, uint32_t> most_of_group;

  absl::Status AddTo(Model& model, Rank rank) const;
};

// The objects of a group cover at least so many domains, or each one of its own if
// they are fewer. Cost: 1 for each domain that is missing.
struct SpreadSpec {
  std::string scope;  // REQUIRED. Example: "region".
  uint32_t least = 2;
  Table<GroupId, uint32_t> least_of_group;  // OPTIONAL. For each group instead of `least`.

  absl::Status AddTo(Model& model, Rank rank) const;
};

// So many objects of a group stand in a domain of its choice. Cost: 1 for each that
// is missing, or the group's weight.
struct AffinitySpec {
  std::string scope;                // REQUIRED. Example: "region".
  Table<GroupId, DomainId> domain;  // REQUIRED. Invalid: no preference.
  uint32_t objects = 1;
  Table<GroupId, uint32_t> objects_of_group;  // OPTIONAL. For each group instead.
  // OPTIONAL. For each group, above 0. Where a domain has not room for all that want it, the search
  // looks for it for heavy ones first, and gives them the places of lighter ones.
  Table<GroupId, double> weight_of_group = {};

  absl::Status AddTo(Model& model, Rank rank) const;
};

}  // namespace shardmanager::solver
