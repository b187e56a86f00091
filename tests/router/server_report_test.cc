#include "router/server_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "router/map_holder.h"
#include "tests/router/test_maps.h"

namespace shardmanager::router {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ServerReportTest : public ::testing::Test {
 protected:
  ServerReportTest() {
    std::vector<TestServer> servers;
    for (int i = 0; i < 8; ++i) {
      servers.push_back({absl::StrCat("kv-", i), absl::StrCat("h", i, ":1"), {}});
    }
    EXPECT_TRUE(holder_.Apply(MakeSnapshot({1, 1}, servers, {{"s", "", {0}}})).ok());
  }
  ServerHealth& Health(uint32_t server) {
    return *holder_.map()->server(ServerIndex(server)).health;
  }
  void Answers(const std::vector<uint32_t>& servers) {
    for (const uint32_t server : servers) {
      Health(server).OnSend();
      Health(server).OnEnd(Impression::kGood, Milliseconds(1));
    }
  }
  void Fails(uint32_t server, int times = 6) {
    for (int i = 0; i < times; ++i) {
      Health(server).OnSend();
      Health(server).OnEnd(Impression::kBad, Seconds(1), Problem::kNoAnswer);
    }
  }
  // "kv-1 1/0 no answer in time"; "nothing" when nothing is sent.
  std::vector<std::string> Next() {
    const auto report = reporter_.Next(*holder_.map());
    if (!report) return {"nothing"};
    std::vector<std::string> lines;
    for (const v1::ServerSeen& seen : report->servers()) {
      lines.push_back(absl::StrCat(seen.server(), " ", seen.in_trouble(), "/", seen.well(),
                                   seen.problem().empty() ? "" : " ", seen.problem()));
    }
    return lines;
  }

  MapHolder holder_;
  ServerReporter reporter_;
};

TEST_F(ServerReportTest, WhoSendsNothingSaysNothing) {
  EXPECT_THAT(Next(), ElementsAre("nothing"));
}

TEST_F(ServerReportTest, WhoIsWellAsksWhetherOthersAreNot) {
  Answers({1, 2});
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_THAT(Next(), IsEmpty()) << "once more: it has nothing to say any more";
  EXPECT_THAT(Next(), ElementsAre("nothing"));
}

TEST_F(ServerReportTest, AServerInTroubleIsNamedWithTheProblem) {
  Answers({1, 2, 3});
  Fails(4);
  EXPECT_THAT(Next(), ElementsAre("kv-4 1/0 no answer in time"));
  EXPECT_THAT(Next(), IsEmpty()) << "it was not used since";
}

TEST_F(ServerReportTest, OneRequestThatFailedIsNoTrouble) {
  Answers({1});
  Fails(4, 1);
  EXPECT_THAT(Next(), IsEmpty());
}

TEST_F(ServerReportTest, OfSuspectsItSaysThatItIsWell) {
  reporter_.SetSuspects({"kv-1", "kv-3"});
  Answers({1, 2});
  EXPECT_THAT(Next(), ElementsAre("kv-1 0/1")) << "kv-3 was not used";
  reporter_.SetSuspects({});
  Answers({1});
  EXPECT_THAT(Next(), IsEmpty());
}

// F17: a client whose network is broken complains of nobody.
TEST_F(ServerReportTest, F17_TroubleWithMoreThanAQuarterIsItsOwn) {
  Answers({1, 2, 3, 4, 5, 6});
  Fails(0);
  Fails(7);
  EXPECT_THAT(Next(), ElementsAre("kv-0 1/0 no answer in time", "kv-7 1/0 no answer in time"));
  Answers({1, 2, 3, 4, 5});
  Fails(0, 1);
  Fails(7, 1);
  reporter_.SetSuspects({"kv-1"});
  EXPECT_THAT(Next(), ElementsAre("kv-1 0/1")) << "two of seven";
}

TEST_F(ServerReportTest, OneOfFewIsNamedAllTheSame) {
  Answers({1});
  Fails(0);
  EXPECT_THAT(Next(), ElementsAre("kv-0 1/0 no answer in time"));
}

}  // namespace
}  // namespace shardmanager::router
