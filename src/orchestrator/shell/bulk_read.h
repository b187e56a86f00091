// Many reads at once, pipelined.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "coordination/store.h"

namespace shardmanager::orchestrator {

struct NamedNode {
  std::string path;
  Node node;
};

// Reads all `paths`, a bounded number in flight, and gives those that exist, in the
// order asked for. Any other error ends it. `done` comes on the session's thread (or
// at once, for no paths).
void ReadAll(CoordinationStore& store, std::vector<std::string> paths,
             std::function<void(absl::StatusOr<std::vector<NamedNode>>)> done);

// Children of all `folders` as full paths, likewise. A folder that is not there has
// none.
void ListAll(CoordinationStore& store, std::vector<std::string> folders,
             std::function<void(absl::StatusOr<std::vector<std::string>>)> done);

}  // namespace shardmanager::orchestrator
