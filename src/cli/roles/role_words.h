// The words of `shardctl grant`, `revoke`, `whoami` and `can-i`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace shardmanager::cli {

struct RoleWords {
  RoleCommand& command;
  std::string& format;  // of -o
  // Only these values are allowed, and the shell offers them.
  std::function<CLI::Option*(CLI::Option*, const std::vector<std::string>&)> limit;
};

// What is given goes to `words`, which must outlive the parser.
void AddRoles(CLI::App& cli, const RoleWords& words);

}  // namespace shardmanager::cli
