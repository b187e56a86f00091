// How every program of ours logs: one line per event on stderr, in UTC, so that
// lines of processes in different regions can be merged by sorting.
//
//   2026-03-01T12:00:00.123Z info shardmanagerd[4711]: leads cell prod, epoch 12
#pragma once

#include <spdlog/fmt/fmt.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "base/time.h"
#include "shardmanager/observe.h"

namespace shardmanager {

struct LogOptions {
  // "trace", "debug", "info", "warning", "error", "critical" or "off". Empty: the
  // environment's SM_LOG_LEVEL, else "info".
  std::string level;
};

// Sets up spdlog's default logger. Call it first in main(). Errors:
// INVALID_ARGUMENT, no such level.
absl::Status InitLogging(std::string_view program, const LogOptions& options = {});

// ---- For code that applications link: all that it says goes to the application's logger, or to
// the default (SetLogger in shardmanager/observe.h says which). Thread-safe.

bool ShouldLog(LogLevel level);
// REQUIRES: ShouldLog(level).
void WriteLog(LogLevel level, std::string_view message);

// Example: Log(LogLevel::kWarning, "{} shards are still in use", count).
template <typename... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (ShouldLog(level)) WriteLog(level, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void LogDebug(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kDebug, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogInfo(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kInfo, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogWarning(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kWarning, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogError(fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kError, format, std::forward<Args>(args)...);
}

// Decides when to speak about something that goes on and on: at once, then every
// `every` while it lasts. Pure; not thread-safe.
class RepeatGate {
 public:
  struct Episode {
    uint64_t times;   // how often Again() was called since it began
    Duration lasted;  // since it began
  };

  explicit RepeatGate(Duration every) : every_(every) {}

  // It happens (again). A value: speak now.
  std::optional<Episode> Again(TimePoint now);
  // It is over. A value: it had begun, so say that it ended.
  std::optional<Episode> Over(TimePoint now);

  bool ongoing() const { return times_ > 0; }

 private:
  Duration every_;
  TimePoint began_;
  TimePoint said_;
  uint64_t times_ = 0;
};

// A RepeatGate that logs. Thread-safe. One per condition, kept where the condition
// is seen:
//
//   Repeater unreachable_;
//   ...
//   if (!status.ok()) unreachable_.Say(StrCat("ZooKeeper cannot be reached: ", status.message()));
//   else unreachable_.Over("ZooKeeper is reached again");
class Repeater {
 public:
  explicit Repeater(Duration every = Seconds(30)) : gate_(every) {}

  // Warns, if it is time to.
  void Say(std::string_view problem);
  // Tells that the problem is gone; says nothing if there was none.
  void Over(std::string_view good_news);

 private:
  std::mutex mutex_;
  RepeatGate gate_;
};

}  // namespace shardmanager
