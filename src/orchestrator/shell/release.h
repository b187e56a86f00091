// Takes an assignment record that cannot be read out of the way, when an operator says so.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "orchestrator/shell/batch_writer.h"
#include "orchestrator/shell/change_outcome.h"
#include "orchestrator/shell/damaged_records.h"

namespace shardmanager::orchestrator {

// Deletes the record, of which a copy is kept: whatever it granted is granted no more, as
// in a failover of the whole server. So the server must be gone, and not come back
// meanwhile: the write checks its registration. `done` comes on the session's thread; OK
// means durable. Errors:
//   FAILED_PRECONDITION  the server is live; or a newer version wrote the record; or
//                        there is no copy of it yet
//   ABORTED              the server came back, the record changed, or somebody else leads
//   CANCELLED            nobody wants it any more; nothing was changed
//   UNAVAILABLE          the connection broke; the message says whether it may have happened
// Nothing is written that is not wanted any more; a write that was lost with the connection is
// repeated as long as it is wanted.
void ReleaseAssignment(const WriterOptions& options, const DamagedRecord& record,
                       std::function<void(absl::Status)> done, Wanted wanted = {});

}  // namespace shardmanager::orchestrator
