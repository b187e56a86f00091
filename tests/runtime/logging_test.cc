#include "runtime/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/json_lines.h"
#include "runtime/log_format.h"

namespace shardmanager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

constexpr TimePoint At(int64_t ms) { return TimePoint(Milliseconds(ms)); }

// What `speak` writes to stderr.
template <typename F>
std::string Logged(F speak, const LogOptions& options = {.level = "info"}) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(InitLogging("testd", options).ok());
  speak();
  spdlog::default_logger()->flush();
  return testing::internal::GetCapturedStderr();
}

TEST(LoggingTest, WritesTimeLevelProgramAndMessageWithoutColourToAFile) {
  EXPECT_THAT(Logged([] { spdlog::info("leads cell {}", "prod"); }),
              MatchesRegex("[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+\\.[0-9]+Z info "
                           "testd\\[[0-9]+\\]: leads cell prod\n"));
}

TEST(LoggingTest, HidesWhatIsBelowTheLevel) {
  auto speak = [] {
    spdlog::info("detail");
    spdlog::warn("trouble");
  };
  const std::string text = Logged(speak, {.level = "warning"});
  EXPECT_THAT(text, HasSubstr("trouble"));
  EXPECT_THAT(text, Not(HasSubstr("detail")));
}

TEST(LoggingTest, TakesTheLevelFromTheEnvironmentUnlessTold) {
  setenv("SM_LOG_LEVEL", "debug", 1);
  EXPECT_THAT(Logged([] { spdlog::debug("detail"); }, {}), HasSubstr("detail"));
  EXPECT_THAT(Logged([] { spdlog::debug("detail"); }, {.level = "info"}), IsEmpty());
  unsetenv("SM_LOG_LEVEL");
  EXPECT_THAT(Logged([] { spdlog::debug("detail"); }, {}), IsEmpty());
}

TEST(LoggingTest, AnEmptyLevelInTheEnvironmentIsNone) {
  setenv("SM_LOG_LEVEL", "", 1);
  EXPECT_THAT(Logged([] { spdlog::info("news"); }, {}), HasSubstr("news"));
  EXPECT_THAT(Logged([] { spdlog::debug("detail"); }, {}), IsEmpty());
  unsetenv("SM_LOG_LEVEL");
}

TEST(LoggingTest, RefusesALevelThatDoesNotExist) {
  const absl::Status status = InitLogging("testd", {.level = "loud"});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"loud\"; allowed: trace, debug"));
  EXPECT_TRUE(InitLogging("testd", {.level = "off"}).ok());
}

TEST(LoggingTest, WritesJsonLinesByChoice) {
  const auto speak = [] { spdlog::warn("key \"a\\b\"\n\x01 is \xc3\xa4 \xff"); };
  const std::string wanted =
      "\\{\"time\":\"[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9]+\\.[0-9][0-9][0-9]Z\","
      "\"level\":\"warning\",\"program\":\"testd\",\"pid\":[0-9]+,"
      "\"message\":\"key \\\\\"a\\\\\\\\b\\\\\"\\\\u000a\\\\u0001 is \xc3\xa4 \\\\ufffd\"\\}\n";
  setenv("SM_LOG_FORMAT", "json", 1);
  EXPECT_THAT(Logged(speak), MatchesRegex(wanted));
  SetLogFormat(LogFormat::kText);
  EXPECT_THAT(Logged(speak), HasSubstr("Z warning testd["));
  unsetenv("SM_LOG_FORMAT");
  SetLogFormat(LogFormat::kJson);
  EXPECT_THAT(Logged(speak), MatchesRegex(wanted));
  SetLogFormat(std::nullopt);
}

TEST(LoggingTest, RefusesAFormatThatDoesNotExist) {
  setenv("SM_LOG_FORMAT", "xml", 1);
  const absl::Status status = InitLogging("testd");
  unsetenv("SM_LOG_FORMAT");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("\"xml\" (SM_LOG_FORMAT); allowed: text, json"));
}

TEST(JsonQuotedTest, EveryTextBecomesUtf8) {
  EXPECT_EQ(JsonQuoted(""), "\"\"");
  EXPECT_EQ(JsonQuoted("a\tb\x7f"), "\"a\\u0009b\\u007f\"");
  EXPECT_EQ(JsonQuoted("\xe2\x82\xac \xf0\x9f\x98\x80"), "\"\xe2\x82\xac \xf0\x9f\x98\x80\"");
  // Cut off, too long, a surrogate, too great, a byte of the middle.
  for (const std::string_view bad :
       {"\xe2\x82", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80"}) {
    std::string wanted = "\"";
    for (size_t i = 0; i < bad.size(); ++i) wanted += "\\ufffd";
    EXPECT_EQ(JsonQuoted(bad), wanted + "\"");
  }
}

class KeptLines final : public Logger {
 public:
  void Log(LogLevel level, std::string_view message) override {
    lines.push_back(absl::StrCat(static_cast<int>(level), " ", std::string(message)));
  }
  std::vector<std::string> lines;
};

TEST(SdkLogTest, GoesToTheApplicationsLoggerAndNowhereElse) {
  const auto kept = std::make_shared<KeptLines>();
  const std::string elsewhere = Logged([&] {
    SetLogger(kept);
    LogDebug("detail");
    LogWarning("{} of {}", 1, 2);
    Repeater repeater;
    repeater.Say("it goes on");
    SetLogger(nullptr);
    LogInfo("news");
  });
  EXPECT_THAT(kept->lines, ElementsAre("3 1 of 2", "3 it goes on"));
  EXPECT_THAT(elsewhere, HasSubstr("news"));
  EXPECT_THAT(elsewhere, Not(HasSubstr("1 of 2")));
}

TEST(SdkLogTest, WritesToStderrWhereTheApplicationsDefaultLoggerWritesToStdout) {
  const auto before = spdlog::default_logger();
  for (const bool colour : {true, false}) {
    std::shared_ptr<spdlog::sinks::sink> sink;
    if (colour) {
      sink = std::make_shared<spdlog::sinks::stdout_color_sink_mt>();
    } else {
      sink = std::make_shared<spdlog::sinks::stdout_sink_mt>();
    }
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("app", sink));
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    LogWarning("trouble");
    spdlog::default_logger()->flush();
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("shardmanager["));
    EXPECT_THAT(testing::internal::GetCapturedStdout(), IsEmpty());
  }
  spdlog::set_default_logger(before);
}

TEST(SdkLogTest, WritesToTheApplicationsDefaultLoggerOtherwise) {
  const auto before = spdlog::default_logger();
  std::ostringstream text;
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "app", std::make_shared<spdlog::sinks::ostream_sink_mt>(text)));
  LogWarning("trouble");
  spdlog::set_default_logger(before);
  EXPECT_THAT(text.str(), HasSubstr("trouble"));
}

TEST(RepeatGateTest, SpeaksAtOnceThenOncePerInterval) {
  RepeatGate gate(Seconds(30));
  EXPECT_TRUE(gate.Again(At(0)).has_value());
  for (int64_t ms = 100; ms < 30'000; ms += 100) EXPECT_FALSE(gate.Again(At(ms)).has_value());
  const auto second = gate.Again(At(30'000));
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->times, 301u);
  EXPECT_EQ(second->lasted, Seconds(30));
  EXPECT_FALSE(gate.Again(At(59'999)).has_value());
  EXPECT_TRUE(gate.Again(At(60'000)).has_value());
}

TEST(RepeatGateTest, SaysThatItIsOverOnceAndOnlyIfItHadBegun) {
  RepeatGate gate(Seconds(30));
  EXPECT_FALSE(gate.Over(At(0)).has_value());
  gate.Again(At(1'000));
  gate.Again(At(2'000));
  const auto over = gate.Over(At(4'000));
  ASSERT_TRUE(over.has_value());
  EXPECT_EQ(over->times, 2u);
  EXPECT_EQ(over->lasted, Seconds(3));
  EXPECT_FALSE(gate.Over(At(5'000)).has_value());
  EXPECT_TRUE(gate.Again(At(6'000)).has_value()) << "a new episode is news";
}

TEST(RepeaterTest, LogsTheProblemOnceAndItsEnd) {
  Repeater repeater;
  const std::string text = Logged([&] {
    repeater.Over("nothing was wrong");
    for (int i = 0; i < 100; ++i) repeater.Say("store out of reach");
    repeater.Over("store reached");
  });
  EXPECT_THAT(text,
              MatchesRegex(".*warning testd.*: store out of reach\n"
                           ".*info testd.*: store reached \\(after 0\\.[0-9] s, 100 times\\)\n"));
}

TEST(RepeaterTest, RemindsWhileItLasts) {
  Repeater repeater(Duration(0));
  const std::string text = Logged([&] {
    repeater.Say("store out of reach");
    repeater.Say("store out of reach");
  });
  EXPECT_THAT(text, HasSubstr("store out of reach (for 0.0 s now, 2 times)"));
}

}  // namespace
}  // namespace shardmanager
