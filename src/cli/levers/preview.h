// What a change would come to: `--dry-run`.
#pragma once

#include <google/protobuf/message.h>

#include "cli/admin_client.h"
#include "cli/command_line.h"
#include "cli/shardctl.h"

namespace shardmanager::cli {

// Asks what `change` would come to, and shows the answer; refused for the reasons for which the
// change would be. REQUIRES: it is one of those in v1::PreviewRequest.
ExitCode ShowPreview(const google::protobuf::Message& change, AdminClient& client,
                     Terminal& terminal);

}  // namespace shardmanager::cli
