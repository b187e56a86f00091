// What operators do by hand about one shard, or one server: `shardctl move`, `retry`,
// `unquarantine` and `forget`.
#pragma once

#include "cli/admin_client.h"
#include "cli/command_line.h"
#include "cli/shardctl.h"

namespace shardmanager::cli {

ExitCode PullLever(const LeverCommand& command, AdminClient& client, Terminal& terminal);

}  // namespace shardmanager::cli
