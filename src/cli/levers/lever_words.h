// The words of `shardctl move`, `retry`, `unquarantine` and `forget`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace shardmanager::cli {

struct LeverWords {
  LeverCommand& command;
  // Adds the argument RESOURCE, which may be this alone.
  std::function<void(CLI::App&, const std::vector<std::string>&)> add_resource;
};

// What is given goes to `words`, which must outlive the parser.
void AddLevers(CLI::App& cli, const LeverWords& words);
// Of a change: only what it would come to is asked for.
CLI::Option* AddDryRun(CLI::App& command, bool& dry_run);

}  // namespace shardmanager::cli
