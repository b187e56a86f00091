// Servers, and fault domains of servers, as people write them. Pure.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "shardmanager/v1/types.pb.h"

namespace shardmanager::cli {

// `level`: server, rack, datacenter or region. `name`: of the server, or "region/datacenter/rack"
// as far as the level goes. INVALID_ARGUMENT: it does not go as far as that.
absl::StatusOr<v1::DrainScope> ParseScope(const std::string& level, const std::string& name);

}  // namespace shardmanager::cli
