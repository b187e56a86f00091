// What is above a limit costs by the unit.
#pragma once

#include <string>

#include "allocator/solver/model.h"

namespace shardmanager::solver {

// Cost: 1 for each unit of load above the domain's limit. (UtilizationSpec counts
// fractions of the capacity instead.)
struct OverageSpec {
  std::string scope = "server";
  std::string metric;             // REQUIRED. Example: "cpu".
  Table<DomainId, Amount> limit;  // REQUIRED. One for each domain; kUnlimited: none

  absl::Status AddTo(Model& model, Rank rank) const;
};

}  // namespace shardmanager::solver
