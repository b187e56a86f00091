// The flags of both daemons that say how they log.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "runtime/log_format.h"

namespace shardmanager::daemon {

// What is given holds from when the command line is parsed.
inline void AddLogFlags(CLI::App& cli) {
  const std::function<void(const std::string&)> set = [](const std::string& format) {
    SetLogFormat(format == "json" ? LogFormat::kJson : LogFormat::kText);
  };
  cli.add_option_function("--log-format", set,
                          "Of the lines on stderr: text, or json, one object per line. Default: "
                          "$SM_LOG_FORMAT, else text")
      ->check(CLI::IsMember({"text", "json"}));
}

}  // namespace shardmanager::daemon
