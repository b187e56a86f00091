// A server that is to be taken for gone: is it?
#pragma once

#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "coordination/store.h"
#include "orchestrator/shell/batch_writer.h"
#include "shardmanager/types.h"

namespace shardmanager::orchestrator {

// Its registration, if it has one: a write that checks its version fails if the server came back.
using Registration = std::optional<Node>;

// Looks whether every life of the server is over. Errors:
//   FAILED_PRECONDITION  it is live
//   UNAVAILABLE          the connection broke
// `done` comes on the session's thread.
void FindGone(const WriterOptions& options, const ServerName& server,
              std::function<void(absl::StatusOr<Registration>)> done);

}  // namespace shardmanager::orchestrator
