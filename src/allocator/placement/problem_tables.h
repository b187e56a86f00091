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

// REQUIRES: CheckInput() is OK. `region_of_shard` gets the domain that each
// shard prefers.
solver::Problem MakeProblem(const PlacementInput& input,
                            std::vector<solver::DomainId>& region_of_shard);

}  // namespace shardmanager::allocator
