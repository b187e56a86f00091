// shardctl but for its main(): runs a command line against a control plane.
#pragma once

#include <functional>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace shardmanager::cli {

// Where a command reads and writes. All pointers REQUIRED.
struct Terminal {
  std::istream* in = nullptr;
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  // A person is there to answer a question.
  bool interactive = false;
  bool colour = false;
  // Milliseconds since 1970 UTC: what ages are counted from.
  int64_t now_ms = 0;
};

// `arguments` without the program's name.
ExitCode RunShardctl(const std::vector<std::string>& arguments, Terminal& terminal);

}  // namespace shardmanager::cli
