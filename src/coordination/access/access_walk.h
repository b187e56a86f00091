// One pass over all nodes of a cell, parents before children, that compares each node's access list
// with what it should be and may mend it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordination/store.h"

namespace shardmanager {

struct WalkOptions {
  std::string root;
  // What the list of a node should be.
  std::function<AccessList(const std::string& path)> wanted;
  bool mend = false;
  // Of each node that differs, before it is mended. May be empty.
  std::function<void(const std::string& path, const AccessList& found)> on_differing;
  // Of each node but the root that may not be looked at or mended: it is passed over, with all
  // below it. May be empty.
  std::function<void(const std::string& path)> on_denied;
  // Of each node, after it was looked at. May be empty.
  std::function<void(const std::string& path, const AccessList& found)> on_node;
};

struct WalkResult {
  uint64_t nodes = 0;
  uint64_t differing = 0;
};

// `done` comes on the session's thread. Nodes that go meanwhile are passed over. Errors: ABORTED,
// PERMISSION_DENIED (of the root) and others of the store, but not UNAVAILABLE: what was not
// answered is asked again.
void WalkAccess(CoordinationStore& store, WalkOptions options,
                std::function<void(absl::StatusOr<WalkResult>)> done);

}  // namespace shardmanager
