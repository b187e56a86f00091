// The cell's root in the store: made once, joined by every process.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "coordination/store.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager {

using CellCallback = std::function<void(absl::StatusOr<v1::CellConfig>)>;

// Makes the cell if it is not there, in one write, and gives its stored config, which
// wins over `wanted`, but for an identity (`made_ms`) that it does not have yet. Any number of
// processes may do so at once. `done` comes on the session's thread, after any wait for the
// connection. Errors: FAILED_PRECONDITION, the path holds something else or another cell;
// UNIMPLEMENTED, made by a newer version; ABORTED, the session has expired; PERMISSION_DENIED, the
// cell is secure and does not let this session in. A cell that a session with credentials makes is
// secure from the beginning. In all cases in which the config was read, the session's credentials
// (store.access()) know from then on how far the cell is closed, whenever that changes.
void EnsureCell(CoordinationStore& store, const v1::CellConfig& wanted, CellCallback done);

// For processes that only join. NOT_FOUND: not made yet; with `changed`, a watch is
// set that tells when it is. Other errors as above, and UNAVAILABLE: ask again.
void LoadCell(CoordinationStore& store, const std::string& cell, CellCallback done,
              CoordinationStore::Watch changed = nullptr);

// For what an operator does with a cell that must be there: asks again until it is answered, and
// NOT_FOUND says so for people.
void LoadMadeCell(CoordinationStore& store, const std::string& cell, CellCallback done);

// "<name>@<when made>": what tells cells apart (discovery.proto, MapSnapshot.cell).
std::string CellIdentity(const v1::CellConfig& config);

}  // namespace shardmanager
