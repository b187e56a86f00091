// Every domain carries its share.
#pragma once

#include <string>

#include "allocator/solver/model.h"

namespace shardmanager::solver {

// Cost: what a domain carries above its share and the tolerance, as a fraction of its
// capacity. The share is total load / total capacity, times the domain's capacity;
// with `even`, or where any capacity is unlimited, total load / number of domains, and
// the cost is in units of load. Closed containers have no share.
struct BalanceSpec {
  std::string scope = "server";
  std::string metric;  // REQUIRED.
  // How far above its share a domain may be, as a fraction of the share. 0 and more.
  double tolerance = 0.1;
  // The same for every domain, whatever its capacity.
  bool even = false;
  // Balance within each domain of this scope, as loads are shared out at the start,
  // instead of over all. (Nobody pays for less than the share over all.) Example:
  // "region".
  // Default: over all.
  std::string within;

  absl::Status AddTo(Model& model, Rank rank) const;
};

}  // namespace shardmanager::solver
