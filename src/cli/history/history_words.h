// The words of `shardctl history`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace shardmanager::cli {

struct HistoryWords {
  HistoryCommand& command;
  std::string& format;  // of -o
  // Only these values are allowed, and the shell offers them.
  std::function<CLI::Option*(CLI::Option*, const std::vector<std::string>&)> limit;
};

// What is given goes to `words`, which must outlive the parser.
void AddHistory(CLI::App& cli, const HistoryWords& words);

}  // namespace shardmanager::cli
