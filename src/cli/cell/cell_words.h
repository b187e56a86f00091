// The words of `shardctl cell`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/command_line.h"

namespace shardmanager::cli {

// What is given goes to `words`, which must outlive the parser.
void AddCell(CLI::App& cli, CellCommand& words);

}  // namespace shardmanager::cli
