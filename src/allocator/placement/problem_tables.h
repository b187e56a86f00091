// Turns the tables of a PlacementInput into those of a solver problem.
#pragma once

#include "absl/status/status.h"
#include "allocator/placement/placement.h"

namespace shardmanager::allocator {

inline constexpr char kRackScope[] = "rack";
inline constexpr char kDatacenterScope[] = "datacenter";
inline constexpr char kRegionScope[] = "region";

// INVALID_ARGUMENT names the field that is wrong.
absl::Status CheckInput(const PlacementInput& input);

// The domains of the regions that an input names; invalid: no server is there.
struct PreferredRegions {
  std::vector<solver::DomainId> of_shard;
  std::vector<solver::DomainId> of_wish;  // as PlacementInput::region_wishes
};

// REQUIRES: CheckInput() is OK.
solver::Problem MakeProblem(const PlacementInput& input, PreferredRegions& preferred);

}  // namespace shardmanager::allocator
