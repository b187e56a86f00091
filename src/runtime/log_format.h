// In which form log lines are written: as text (runtime/logging.h shows a line), or as one JSON
// object per line (runtime/json_lines.h) for programs that collect logs.
#pragma once

#include <optional>

namespace shardmanager {

enum class LogFormat { kText, kJson };

// For all lines on stderr that this process sets up from now on: InitLogging(), and the default log
// of the SDK. Call it before those. Nothing (the default): what the environment's SM_LOG_FORMAT
// says, "text" or "json", else text. Thread-safe.
void SetLogFormat(std::optional<LogFormat> format);

}  // namespace shardmanager
