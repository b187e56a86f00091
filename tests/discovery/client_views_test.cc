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

constexpr uint64_t kSelf = 7;

constexpr TimePoint At(int64_t s) { return TimePoint(Seconds(s)); }

v1::ServerSeen Trouble(const std::string& server, uint32_t clients = 1) {
  v1::ServerSeen seen;
  seen.set_server(server);
  seen.set_no_answer(clients);
  return seen;
}

v1::ServerSeen Well(const std::string& server, uint32_t clients = 1) {
  v1::ServerSeen seen;
  seen.set_server(server);
  seen.set_well(clients);
  return seen;
}

v1::ReportServersRequest Report(uint64_t reporter, const std::vector<v1::ServerSeen>& servers) {
  v1::ReportServersRequest report;
  report.set_reporter(reporter);
  for (const v1::ServerSeen& seen : servers) *report.add_servers() = seen;
  return report;
}

// "kv-1 2/1": two are in trouble with it, one is well.
std::vector<std::string> Sum(const ClientViews& views) {
  std::vector<std::string> lines;
  const v1::ReportServersRequest sum = views.Sum();
  for (const v1::ServerSeen& seen : sum.servers()) {
    lines.push_back(absl::StrCat(seen.server(), " ", ViewOf(seen).in_trouble(), "/", seen.well()));
  }
  return lines;
}

TEST(ClientViewsTest, AddsUpWhatReportersSay) {
  ClientViews views(kSelf);
  EXPECT_TRUE(views.Take(At(1), Report(1, {Trouble("kv-2"), Trouble("kv-1")})).ok());
  EXPECT_TRUE(views.Take(At(1), Report(2, {Trouble("kv-1", 10), Well("kv-3", 30)})).ok());
  EXPECT_THAT(Sum(views), ElementsAre("kv-1 11/0", "kv-2 1/0", "kv-3 0/30"));
  EXPECT_THAT(views.Suspects(), ElementsAre("kv-1", "kv-2"));
  EXPECT_EQ(views.reporters(), 2u);
}

TEST(ClientViewsTest, TheNextReportTakesThePlaceOfTheLastOne) {
  ClientViews views(kSelf);
  EXPECT_TRUE(views.Take(At(1), Report(1, {Trouble("kv-1"), Trouble("kv-2")})).ok());
  EXPECT_TRUE(views.Take(At(2), Report(1, {Trouble("kv-2"), Well("kv-3")})).ok());
  EXPECT_THAT(Sum(views), ElementsAre("kv-2 1/0", "kv-3 0/1"));
  EXPECT_TRUE(views.Take(At(3), Report(1, {})).ok());
  EXPECT_THAT(Sum(views), IsEmpty());
  EXPECT_EQ(views.reporters(), 0u);
}

TEST(ClientViewsTest, AReporterThatFallsSilentIsForgotten) {
  ClientViews views(kSelf);
  EXPECT_TRUE(views.Take(At(0), Report(1, {Trouble("kv-1")})).ok());
  EXPECT_TRUE(views.Take(At(0), Report(2, {Trouble("kv-1")})).ok());
  EXPECT_TRUE(views.Take(At(10), Report(1, {Trouble("kv-1")})).ok());
  views.Forget(At(14));
  EXPECT_THAT(Sum(views), ElementsAre("kv-1 2/0"));
  views.Forget(At(15));
  EXPECT_THAT(Sum(views), ElementsAre("kv-1 1/0")) << "the other one has said it again";
  views.Forget(At(25));
  EXPECT_THAT(Sum(views), IsEmpty());
  EXPECT_THAT(views.Suspects(), IsEmpty());
}

TEST(ClientViewsTest, WhatHasPassedThroughItselfCountsNoSecondTime) {
  ClientViews here(kSelf);
  ClientViews other(8);
  ClientViews third(9);
  EXPECT_TRUE(here.Take(At(1), Report(1, {Trouble("kv-1")})).ok());
  for (int round = 0; round < 3; ++round) {  // the three form a ring
    EXPECT_TRUE(other.Take(At(2), here.Sum()).ok());
    EXPECT_TRUE(third.Take(At(2), other.Sum()).ok());
    EXPECT_TRUE(here.Take(At(2), third.Sum()).ok());
  }
  EXPECT_THAT(Sum(here), ElementsAre("kv-1 1/0"));
  EXPECT_THAT(Sum(third), ElementsAre("kv-1 1/0"));
  EXPECT_THAT(third.Sum().through(), ElementsAre(9, 7, 8));
}

TEST(ClientViewsTest, RefusesWhatIsMalformedAndKeepsWhatThereWas) {
  ClientViews views(kSelf);
  EXPECT_TRUE(views.Take(At(1), Report(1, {Trouble("kv-1")})).ok());
  const auto error = [&](const v1::ReportServersRequest& report) {
    const absl::Status taken = views.Take(At(1), report);
    EXPECT_TRUE(absl::IsInvalidArgument(taken)) << taken;
    return std::string(taken.message());
  };
  EXPECT_EQ(error(Report(0, {})), "reporter: found 0; allowed: another number");
  EXPECT_EQ(error(Report(1, {Trouble("kv-1"), Trouble("")})),
            "servers[1].server: found 0 bytes; allowed: 1 to 200");
  EXPECT_THAT(error(Report(1, {Trouble(std::string(201, 'x'))})), HasSubstr("found 201 bytes"));
  EXPECT_EQ(error(Report(1, {Trouble("kv-1"), Well("kv-1")})),
            "servers[1].server: found \"kv-1\" again; allowed: each once");
  EXPECT_THAT(error(Report(1, std::vector(10'001, Trouble("kv-1")))),
              HasSubstr("servers: found 10001; allowed: at most 10000"));
  v1::ReportServersRequest wide = Report(1, {});
  for (uint64_t i = 0; i < 1'001; ++i) wide.add_through(i + 100);
  EXPECT_EQ(error(wide), "through: found 1001; allowed: at most 1000");
  EXPECT_THAT(Sum(views), ElementsAre("kv-1 1/0"));
}

TEST(ClientViewsTest, NamesOfServersAreBounded) {
  ClientViews views(kSelf);
  std::vector<v1::ServerSeen> many;
  for (size_t i = 0; i < ClientViews::kMostServers; ++i) {
    many.push_back(Trouble(absl::StrCat("kv-", i)));
  }
  EXPECT_TRUE(views.Take(At(1), Report(1, many)).ok());
  EXPECT_TRUE(views.Take(At(1), Report(2, {Trouble("kv-5")})).ok());
  const absl::Status more = views.Take(At(1), Report(3, {Trouble("another")}));
  EXPECT_TRUE(absl::IsResourceExhausted(more)) << more;
  EXPECT_EQ(views.Suspects().size(), ClientViews::kMostSuspects);
  // So that what is bounded is what there is, not what there was.
  EXPECT_TRUE(views.Take(At(2), Report(1, {})).ok());
  EXPECT_TRUE(views.Take(At(2), Report(3, {Trouble("another")})).ok());
  EXPECT_THAT(Sum(views), ElementsAre("another 1/0", "kv-5 1/0"));
}

}  // namespace
}  // namespace shardmanager::discovery
