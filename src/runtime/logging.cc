#include "runtime/logging.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/clock.h"
#include "runtime/json_lines.h"
#include "runtime/log_format.h"

namespace shardmanager {
namespace {

constexpr std::string_view kLevels = "trace, debug, info, warning, error, critical, off";

std::string ChosenLevel(const LogOptions& options) {
  if (!options.level.empty()) return options.level;
  const char* environment = std::getenv("SM_LOG_LEVEL");
  return environment != nullptr && *environment != '\0' ? environment : "info";
}

std::atomic<std::optional<LogFormat>>& SetFormat() {
  static std::atomic<std::optional<LogFormat>> format;
  return format;
}

absl::StatusOr<LogFormat> ChosenFormat() {
  if (const std::optional<LogFormat> set = SetFormat().load()) return *set;
  const char* environment = std::getenv("SM_LOG_FORMAT");
  const std::string name = environment != nullptr ? environment : "";
  if (name.empty() || name == "text") return LogFormat::kText;
  if (name == "json") return LogFormat::kJson;
  return absl::InvalidArgumentError(
      absl::StrCat("no such log format: \"", name, "\" (SM_LOG_FORMAT); allowed: text, json"));
}

std::shared_ptr<spdlog::logger> ToStderr(std::string name, spdlog::level::level_enum level,
                                         LogFormat format) {
  // This sink colours its lines only when stderr is a terminal.
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>(std::move(name), std::move(sink));
  logger->set_level(level);
  if (format == LogFormat::kJson) {
    logger->set_formatter(std::make_unique<JsonLines>());
  } else {
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %n[%P]: %v", spdlog::pattern_time_type::utc);
  }
  logger->flush_on(spdlog::level::trace);  // stderr is a log, not a buffer
  return logger;
}

// As spdlog's own default logger does.
bool WritesToStdout(const spdlog::logger& logger) {
  namespace sinks = spdlog::sinks;
  const auto is_stdout = [](const spdlog::sink_ptr& sink) {
    const sinks::sink* at = sink.get();
    return dynamic_cast<const sinks::stdout_color_sink_mt*>(at) != nullptr ||
           dynamic_cast<const sinks::stdout_color_sink_st*>(at) != nullptr ||
           dynamic_cast<const sinks::stdout_sink_mt*>(at) != nullptr ||
           dynamic_cast<const sinks::stdout_sink_st*>(at) != nullptr;
  };
  return std::any_of(logger.sinks().begin(), logger.sinks().end(), is_stdout);
}

// What the libraries of an application use that has set no Logger.
std::shared_ptr<spdlog::logger> DefaultLogger() {
  std::shared_ptr<spdlog::logger> current = spdlog::default_logger();
  if (current != nullptr && !WritesToStdout(*current)) return current;
  static const auto* stderr_logger = new std::shared_ptr<spdlog::logger>(
      ToStderr("shardmanager", spdlog::level::from_str(ChosenLevel({})),
               ChosenFormat().value_or(LogFormat::kText)));
  return *stderr_logger;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

struct OwnLogger {
  std::mutex mutex;
  std::shared_ptr<Logger> logger;  // null: the default
};

OwnLogger& TheOwnLogger() {
  static auto* own = new OwnLogger;  // never destroyed: threads may outlive main
  return *own;
}

std::shared_ptr<Logger> CurrentLogger() {
  OwnLogger& own = TheOwnLogger();
  std::lock_guard lock(own.mutex);
  return own.logger;
}

}  // namespace

void SetLogFormat(std::optional<LogFormat> format) { SetFormat() = format; }

absl::Status InitLogging(std::string_view program, const LogOptions& options) {
  const std::string name = ChosenLevel(options);
  const auto level = spdlog::level::from_str(name);
  // from_str answers "off" to whatever it does not know.
  if (level == spdlog::level::off && name != "off") {
    return absl::InvalidArgumentError(
        absl::StrCat("no such log level: \"", name, "\"; allowed: ", std::string(kLevels)));
  }
  const absl::StatusOr<LogFormat> format = ChosenFormat();
  if (!format.ok()) return format.status();
  spdlog::set_default_logger(ToStderr(std::string(program), level, *format));
  return absl::OkStatus();
}

void SetLogger(std::shared_ptr<Logger> logger) {
  OwnLogger& own = TheOwnLogger();
  {
    std::lock_guard lock(own.mutex);
    own.logger.swap(logger);
  }
  // What was there goes without the lock: its destructor may log.
}

bool ShouldLog(LogLevel level) {
  if (const auto own = CurrentLogger()) return own->ShouldLog(level);
  return DefaultLogger()->should_log(ToSpdlog(level));
}

void WriteLog(LogLevel level, std::string_view message) {
  if (const auto own = CurrentLogger()) return own->Log(level, message);
  DefaultLogger()->log(ToSpdlog(level), "{}", message);
}

std::optional<RepeatGate::Episode> RepeatGate::Again(TimePoint now) {
  if (times_++ == 0) {
    began_ = said_ = now;
    return Episode{1, Duration(0)};
  }
  if (now - said_ < every_) return std::nullopt;
  said_ = now;
  return Episode{times_, now - began_};
}

std::optional<RepeatGate::Episode> RepeatGate::Over(TimePoint now) {
  if (!ongoing()) return std::nullopt;
  const Episode episode{times_, now - began_};
  times_ = 0;
  return episode;
}

void Repeater::Say(std::string_view problem) {
  std::lock_guard lock(mutex_);
  const auto episode = gate_.Again(MonotonicNow());
  if (!episode) return;
  if (episode->times == 1) {
    LogWarning("{}", problem);
  } else {
    LogWarning("{} (for {:.1f} s now, {} times)", problem, InSeconds(episode->lasted),
               episode->times);
  }
}

void Repeater::Over(std::string_view good_news) {
  std::lock_guard lock(mutex_);
  const auto episode = gate_.Over(MonotonicNow());
  if (!episode) return;
  LogInfo("{} (after {:.1f} s, {} times)", good_news, InSeconds(episode->lasted), episode->times);
}

}  // namespace shardmanager
