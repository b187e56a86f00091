// The flags of both daemons that say how they log.
#pragma once

#include <CLI/CLI.hpp>

#include "runtime/logging.h"

namespace shardmanager::daemon {

// `log` must outlive `cli`.
inline void AddLogFlags(CLI::App& cli, LogOptions& log) {
  cli.add_option("--log-format", log.format,
                 "Of the lines on stderr: text, or json, one object per line. Default: "
                 "$SM_LOG_FORMAT, else text")
      ->check(CLI::IsMember({"text", "json"}));
}

}  // namespace shardmanager::daemon
