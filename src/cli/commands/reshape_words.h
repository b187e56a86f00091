// The words of `shardctl split` and `shardctl merge`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/command_line.h"

namespace shardmanager::cli {

// What is given goes to `words`, which must outlive the parser.
void AddReshape(CLI::App& cli, ReshapeCommand& words);

}  // namespace shardmanager::cli
