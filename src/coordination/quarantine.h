// Keeps the bytes of records that cannot be read, in a folder where nothing looks and
// nothing is ever written over: /<cell>/quarantine/<path>@<created>.<version>, with the
// path below the cell's root and ':' for '/'.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "coordination/paths.h"
#include "coordination/store.h"

namespace shardmanager {

// Where the bytes of that state of a node are kept. `path` is below the cell's root.
std::string QuarantinePath(const Paths& paths, const std::string& path, const NodeStat& stat);

// Copies the bytes there, unless they are there already; `checks` must hold for it. The
// record itself stays as it is. `done` comes on the session's thread. Errors: those of
// the store's Multi().
void KeepBytes(CoordinationStore& store, const Paths& paths, const std::string& path,
               const Node& node, std::vector<WriteOp> checks,
               std::function<void(absl::Status)> done);

}  // namespace shardmanager
