// What a change would come to: `--dry-run`.
#pragma once

#include "cli/admin_client.h"
#include "cli/command_line.h"
#include "cli/shardctl.h"

namespace shardmanager::cli {

// Asks, and shows the answer; refused for the reasons for which the change would be.
ExitCode ShowPreview(const v1::PreviewRequest& request, AdminClient& client, Terminal& terminal);

}  // namespace shardmanager::cli
