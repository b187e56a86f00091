// The moves that are under way, as the coordination store has them.
#pragma once

#include <set>
#include <string>

#include "absl/status/statusor.h"

namespace shardmanager::testing {

// Indices (KvSpec) of the shards that have a replica on its way from one server to
// another: no server may serve them as primary until the control plane goes on.
// Exact while the control plane is away.
absl::StatusOr<std::set<int>> ShardsInMotion(const std::string& zookeeper, const std::string& cell,
                                             const std::string& app);

}  // namespace shardmanager::testing
