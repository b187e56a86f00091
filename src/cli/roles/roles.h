// `shardctl grant`, `revoke`, `whoami`, `can-i` and `get grants`.
#pragma once

#include "cli/admin_client.h"
#include "cli/command_line.h"
#include "cli/shardctl.h"

namespace shardmanager::cli {

ExitCode RunRoles(const RoleCommand& command, AdminClient& client, Terminal& terminal);
ExitCode GetGrants(const GetCommand& command, AdminClient& client, Terminal& terminal);

}  // namespace shardmanager::cli
