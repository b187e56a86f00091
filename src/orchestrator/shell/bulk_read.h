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
  absl::Status denied = {};  // with Denied::kGive: it is there, and may not be read
};

// What becomes of nodes that may not be read.
enum class Denied { kFails, kGive };

// Reads all `paths`, a bounded number in flight, and gives those that exist, in the
// order asked for. Any other error ends it, unless `denied` says otherwise. `done` comes on the
// session's thread (or at once, for no paths).
void ReadAll(CoordinationStore& store, std::vector<std::string> paths,
             std::function<void(absl::StatusOr<std::vector<NamedNode>>)> done,
             Denied denied = Denied::kFails);

// Children of all `folders` as full paths, likewise. A folder that is not there has
// none.
void ListAll(CoordinationStore& store, std::vector<std::string> folders,
             std::function<void(absl::StatusOr<std::vector<std::string>>)> done);

}  // namespace shardmanager::orchestrator
