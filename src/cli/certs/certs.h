// `shardctl certs`: an authority of one's own and the certificates that it signs, in a folder.
// Talks to nobody.
#pragma once

#include "cli/command_line.h"
#include "cli/shardctl.h"

namespace shardmanager::cli {

ExitCode RunCerts(const CertsCommand& command, Terminal& terminal);

}  // namespace shardmanager::cli
