// A shard map as a file: whole or not at all, never older than what was there.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::router {

// Errors:
//   NOT_FOUND            there is none
//   DATA_LOSS            damaged, or the map of another app
//   RESOURCE_EXHAUSTED   larger than any that we would write
//   UNIMPLEMENTED        written by a newer version
//   UNAVAILABLE          the file system says no
absl::StatusOr<v1::CachedMap> ReadMapFile(const std::string& path, const std::string& app);

enum class Written { kYes, kNewerThere };

// Writes beside it, syncs and renames. A readable map of the same cell that is as new
// stays. Processes that share the file wait for each other. Errors: RESOURCE_EXHAUSTED,
// the map is too large for a file; UNAVAILABLE, as above.
absl::StatusOr<Written> WriteMapFile(const std::string& path, const v1::CachedMap& map);

}  // namespace shardmanager::router
