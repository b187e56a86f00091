// `shardctl status`: how the cell is.
#pragma once

#include "cli/admin_client.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"

namespace shardmanager::cli {

// kOk: a leader answers, and nothing is wrong. kProblems: something is, or the state of the cell is
// not known.
ExitCode ShowStatus(const StatusCommand& command, AdminClient& client, Terminal& terminal);

}  // namespace shardmanager::cli
