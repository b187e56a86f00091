// `shardctl cell`: credentials for ZooKeeper, and the cell's access lists there. Talks to
// ZooKeeper, not to the control plane.
#pragma once

#include "cli/command_line.h"
#include "cli/shardctl.h"

namespace shardmanager::cli {

// `patience`: how long to wait for ZooKeeper.
ExitCode RunCell(const CellCommand& command, std::chrono::milliseconds patience,
                 Terminal& terminal);

}  // namespace shardmanager::cli
