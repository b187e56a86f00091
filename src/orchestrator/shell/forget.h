// Marks the registration of a server that does not come back, when an operator says so.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "orchestrator/shell/batch_writer.h"
#include "orchestrator/shell/change_outcome.h"
#include "shardmanager/types.h"

namespace shardmanager::orchestrator {

// The registration stays, as its version counts lives, and says that the server is forgotten; the
// next life writes over it. Calls `done`, on the session's thread, with the version of the
// registration since then; OK means durable. REQUIRES: nothing is assigned to the server. Errors:
//   NOT_FOUND            it never registered
//   FAILED_PRECONDITION  it is live; or its registration cannot be read
//   ABORTED              the server came back, or somebody else leads
//   CANCELLED            nobody wants it any more; nothing was changed
//   UNAVAILABLE          the connection broke; the message says whether it may have happened
void MarkForgotten(const WriterOptions& options, const ServerName& server,
                   std::function<void(absl::StatusOr<int32_t>)> done, Wanted wanted = {});

}  // namespace shardmanager::orchestrator
