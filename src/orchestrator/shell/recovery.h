// Reads an app's whole state back from the store.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "orchestrator/shell/batch_writer.h"
#include "orchestrator/shell/server_watch.h"
#include "orchestrator/state/partition_io.h"

namespace shardmanager::orchestrator {

struct RecoveredState {
  Recovered event;
  absl::flat_hash_set<std::string> records;  // servers with an assignment record
};

// `spec` and `deleting` of the event are left to the caller. Order matters and is
// kept: sync; registrations; live nodes (`watch` begins here); assignments. Calls
// `done` on the driver's thread.
void Recover(const WriterOptions& options, ServerWatch& watch,
             std::function<void(absl::StatusOr<RecoveredState>)> done);

}  // namespace shardmanager::orchestrator
