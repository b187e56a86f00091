// `shardctl history`: what happened, as it is kept.
#pragma once

#include "cli/admin_client.h"
#include "cli/command_line.h"
#include "cli/shardctl.h"

namespace shardmanager::cli {

ExitCode ShowHistory(const HistoryCommand& command, AdminClient& client, Terminal& terminal);

}  // namespace shardmanager::cli
