#include "discovery/client_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace shardmanager::discovery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr TimePoint At(int64_t s) { return TimePoint(Seconds(s)); }

v1::ServerSeen Trouble(const std::string& server, uint32_t clients = 1,
                       const std::string& problem = "did not answer") {
  v1::ServerSeen seen;
  seen.set_server(server);
  seen.set_in_trouble(clients);
  seen.set_problem(problem);
  return seen;
}

v1::ServerSeen Well(const std::string& server, uint32_t clients = 1) {
  v1::ServerSeen seen;
  seen.set_server(server);
  seen.set_well(clients);
  return seen;
}

class ClientViewsTest : public ::testing::Test {
 protected:
  absl::Status Report(TimePoint now, const std::string& reporter,
                      const std::vector<v1::ServerSeen>& servers, const std::string& app = "kv") {
    v1::ReportServersRequest report;
    report.set_app(app);
    report.set_reporter(reporter);
    for (const v1::ServerSeen& seen : servers) *report.add_servers() = seen;
    return views_.Take(now, report);
  }
  // "kv-1 2/1": two are in trouble with it, one is well.
  std::vector<std::string> Sum(TimePoint now, const std::string& app = "kv") {
    std::vector<std::string> lines;
    for (const v1::ServerSeen& seen : views_.Sum(now, app)) {
      lines.push_back(absl::StrCat(seen.server(), " ", seen.in_trouble(), "/", seen.well()));
    }
    return lines;
  }

  ClientViews views_;
};

TEST_F(ClientViewsTest, AddsUpWhatReportersSay) {
  EXPECT_TRUE(Report(At(1), "web-1", {Trouble("kv-2"), Trouble("kv-1")}).ok());
  EXPECT_TRUE(Report(At(1), "relay", {Trouble("kv-1", 10), Well("kv-2", 30)}).ok());
  EXPECT_THAT(Sum(At(2)), ElementsAre("kv-1 11/0", "kv-2 1/30"));
  EXPECT_THAT(views_.Suspects(At(2), "kv"), ElementsAre("kv-1", "kv-2"));
  EXPECT_THAT(views_.Suspects(At(2), "other"), IsEmpty());
}

TEST_F(ClientViewsTest, ServersThatNobodyIsInTroubleWithAreNoSuspects) {
  Report(At(1), "web-1", {Well("kv-1")}).IgnoreError();
  EXPECT_THAT(views_.Suspects(At(2), "kv"), IsEmpty());
}

TEST_F(ClientViewsTest, AReportTakesThePlaceOfTheLastOne) {
  Report(At(1), "web-1", {Trouble("kv-1")}).IgnoreError();
  Report(At(2), "web-1", {Trouble("kv-2")}).IgnoreError();
  EXPECT_THAT(Sum(At(3)), ElementsAre("kv-2 1/0"));
  Report(At(4), "web-1", {}).IgnoreError();
  EXPECT_THAT(Sum(At(5)), IsEmpty());
  EXPECT_THAT(views_.Apps(At(5)), IsEmpty());
}

TEST_F(ClientViewsTest, AReportThatIsNotRepeatedIsForgotten) {
  Report(At(0), "web-1", {Trouble("kv-1")}).IgnoreError();
  EXPECT_THAT(Sum(At(29)), ElementsAre("kv-1 1/0"));
  EXPECT_THAT(Sum(At(30)), IsEmpty());
}

TEST_F(ClientViewsTest, AppsAreApart) {
  Report(At(1), "web-1", {Trouble("kv-1")}, "b").IgnoreError();
  Report(At(1), "web-1", {Trouble("kv-2")}, "a").IgnoreError();
  EXPECT_THAT(Sum(At(2), "a"), ElementsAre("kv-2 1/0"));
  EXPECT_THAT(views_.Apps(At(2)), ElementsAre("a", "b"));
}

TEST_F(ClientViewsTest, TheProblemThatIsShownDoesNotDependOnTheOrderOfReports) {
  Report(At(1), "web-1", {Trouble("kv-1", 1, "it broke")}).IgnoreError();
  Report(At(1), "web-2", {Trouble("kv-1", 1, "did not answer")}).IgnoreError();
  Report(At(1), "web-3", {Trouble("kv-1", 1, "")}).IgnoreError();
  EXPECT_EQ(views_.Sum(At(2), "kv").at(0).problem(), "did not answer");
}

TEST_F(ClientViewsTest, NumbersThatLieDoNotOverflow) {
  Report(At(1), "web-1", {Trouble("kv-1", UINT32_MAX)}).IgnoreError();
  Report(At(1), "web-2", {Trouble("kv-1", UINT32_MAX)}).IgnoreError();
  EXPECT_EQ(views_.Sum(At(2), "kv").at(0).in_trouble(), UINT32_MAX);
}

TEST_F(ClientViewsTest, WrongReportsAreRefusedByTheNameOfTheField) {
  EXPECT_THAT(std::string(Report(At(1), "", {}).message()),
              HasSubstr("reporter: found 0 bytes; allowed: 1 to 200"));
  EXPECT_THAT(std::string(Report(At(1), "x", {}, std::string(201, 'a')).message()),
              HasSubstr("app: found 201 bytes"));
  EXPECT_THAT(std::string(Report(At(1), "x", {Trouble("kv-1"), Trouble("kv-1")}).message()),
              HasSubstr("servers[1].server: found \"kv-1\" again"));
  EXPECT_THAT(std::string(Report(At(1), "x", {Trouble("")}).message()),
              HasSubstr("servers[0].server"));
  EXPECT_THAT(
      std::string(Report(At(1), "x", {Trouble("kv-1", 1, std::string(201, 'p'))}).message()),
      HasSubstr("servers[0].problem"));
  std::vector<v1::ServerSeen> many;
  for (int i = 0; i <= 10'000; ++i) many.push_back(Trouble(absl::StrCat("kv-", i)));
  EXPECT_THAT(std::string(Report(At(1), "x", many).message()), HasSubstr("servers: found 10001"));
  EXPECT_THAT(Sum(At(2)), IsEmpty());
}

TEST_F(ClientViewsTest, ReportersAreBounded) {
  for (size_t i = 0; i < ClientViews::kMostReporters; ++i) {
    ASSERT_TRUE(Report(At(1), absl::StrCat("web-", i), {Trouble("kv-1")}).ok());
  }
  EXPECT_EQ(Report(At(2), "one more", {Trouble("kv-1")}).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Report(At(2), "web-7", {Trouble("kv-1")}).ok()) << "it is one of them";
  EXPECT_TRUE(Report(At(31), "one more", {Trouble("kv-1")}).ok()) << "the others are forgotten";
}

}  // namespace
}  // namespace shardmanager::discovery
