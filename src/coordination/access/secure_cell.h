// Closes an open cell to strangers, opens it again, or looks how it stands: node by node, in place,
// while servers and the control plane work.
//
// Closing goes in steps, each of which may be repeated and leaves servers able to register:
//   1. The cell's leader and all live servers must have credentials, or nothing is changed.
//   2. The config says "securing": from now on processes make closed nodes.
//   3. All nodes are closed, parents first, in passes until one finds nothing to do.
//   4. Live servers are looked at once more: one that came without credentials meanwhile could not
//      register again and must be restarted with them.
//   5. The config says "secure": live nodes without proof count as nobody's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordination/access/store_access.h"
#include "coordination/store.h"

namespace shardmanager {

enum class SecureAction { kLook, kClose, kOpen };

struct SecureOptions {
  std::string cell;
  SecureAction action = SecureAction::kLook;
  // With kClose and credentials that have an older secret, too: afterwards that opens nothing any
  // more. FAILED_PRECONDITION as long as a live server uses it.
  bool only_newest = false;
  // Now and then, with the nodes that were looked at and those that were changed so far. May be
  // empty.
  std::function<void(uint64_t seen, uint64_t changed)> on_progress;
};

struct SecureReport {
  CellSecurity security = CellSecurity::kOpen;  // afterwards
  uint64_t nodes = 0;                           // of the last pass
  uint64_t changed = 0;
  // With kLook: nodes whose access is not what it would be in a secure cell, and of those the ones
  // that anyone can access. At most kMostListed are named.
  uint64_t differing = 0;
  uint64_t open = 0;
  std::vector<std::string> differing_paths;
  // Nodes that the control plane may not look at: somebody shut it out of what it made. Likewise.
  uint64_t denied = 0;
  std::vector<std::string> denied_paths;
  // Live servers that have no credentials of the cell (or, with `only_newest`, only older ones),
  // and the leader.
  std::vector<std::string> without_credentials;
};
inline constexpr size_t kMostListed = 20;

// `done` comes on the session's thread, after any wait for the connection. Whatever breaks in the
// middle: run it again. REQUIRES: store.access() is the control plane's. Errors: NOT_FOUND, there
// is no such cell; FAILED_PRECONDITION, somebody has no credentials (names them);
// PERMISSION_DENIED, the credentials are not the cell's; ABORTED, the session has expired.
void SecureCell(CoordinationStore& store, SecureOptions options,
                std::function<void(absl::StatusOr<SecureReport>)> done);

}  // namespace shardmanager
