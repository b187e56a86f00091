#include "runtime/logging.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/clock.h"

namespace shardmanager {
namespace {

constexpr std::string_view kLevels = "trace, debug, info, warning, error, critical, off";

std::string ChosenLevel(const LogOptions& options) {
  if (!options.level.empty()) return options.level;
  const char* environment = std::getenv("SM_LOG_LEVEL");
  return environment != nullptr && *environment != '\0' ? environment : "info";
}

}  // namespace

absl::Status InitLogging(std::string_view program, const LogOptions& options) {
  const std::string name = ChosenLevel(options);
  const auto level = spdlog::level::from_str(name);
  // from_str answers "off" to whatever it does not know.
  if (level == spdlog::level::off && name != "off") {
    return absl::InvalidArgumentError(
        absl::StrCat("no such log level: \"", name, "\"; allowed: ", std::string(kLevels)));
  }
  // This sink colours its lines only when stderr is a terminal.
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>(std::string(program), std::move(sink));
  logger->set_level(level);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %^%l%$ %n[%P]: %v", spdlog::pattern_time_type::utc);
  logger->flush_on(spdlog::level::trace);  // stderr is a log, not a buffer
  spdlog::set_default_logger(std::move(logger));
  return absl::OkStatus();
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
    spdlog::warn("{}", problem);
  } else {
    spdlog::warn("{} (for {:.1f} s now, {} times)", problem, InSeconds(episode->lasted),
                 episode->times);
  }
}

void Repeater::Over(std::string_view good_news) {
  std::lock_guard lock(mutex_);
  const auto episode = gate_.Over(MonotonicNow());
  if (!episode) return;
  spdlog::info("{} (after {:.1f} s, {} times)", good_news, InSeconds(episode->lasted),
               episode->times);
}

}  // namespace shardmanager
