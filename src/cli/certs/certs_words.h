// The words of `shardctl certs`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/command_line.h"

namespace shardmanager::cli {

// What is given goes to `words`, which must outlive the parser.
void AddCerts(CLI::App& cli, CertsCommand& words);

}  // namespace shardmanager::cli
