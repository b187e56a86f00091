#include "router/server_reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/server_view.h"
#include "router/map_holder.h"
#include "tests/router/test_maps.h"

namespace shardmanager::router {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// kv-0 to kv-7 stand in one region, kv-8 to kv-15 in another one.
class ServerReporterTest : public ::testing::Test {
 protected:
  ServerReporterTest() {
    std::vector<TestServer> servers;
    for (int i = 0; i < 16; ++i) {
      servers.push_back(
          {absl::StrCat("kv-", i), absl::StrCat("h", i, ":1"), {i < 8 ? "near" : "far", "", ""}});
    }
    EXPECT_TRUE(holder_.Apply(MakeSnapshot({1, 1}, servers, {{"s", "", {0}}})).ok());
  }
  ServerHealth& Health(uint32_t server) {
    return *holder_.map()->server(ServerIndex(server)).health;
  }
  void Answer(uint32_t server, Duration took = Milliseconds(1), int times = 20) {
    for (int i = 0; i < times; ++i) {
      Health(server).OnSend();
      Health(server).OnEnd(Impression::kGood, took);
    }
  }
  void AnswerAll(uint32_t begin, uint32_t end, Duration took = Milliseconds(1)) {
    for (uint32_t server = begin; server < end; ++server) Answer(server, took);
  }
  void Fail(uint32_t server, std::optional<Problem> problem = Problem::kNoAnswer, int times = 6) {
    for (int i = 0; i < times; ++i) {
      Health(server).OnSend();
      Health(server).OnEnd(Impression::kBad, Seconds(1), problem);
    }
  }
  // "kv-1 no answer in time", "kv-2 well".
  std::vector<std::string> Next(Duration passes = Duration(0)) {
    now_ += passes;
    std::vector<std::string> lines;
    const v1::ReportServersRequest report = reporter_.Next(*holder_.map(), now_);
    for (const v1::ServerSeen& seen : report.servers()) {
      const ServerView view = ViewOf(seen);
      EXPECT_EQ(view.in_trouble() + view.well, 1u);
      lines.push_back(
          absl::StrCat(seen.server(), " ", view.well > 0 ? "well" : ToString(view.main_problem())));
    }
    return lines;
  }

  TimePoint now_{Seconds(100)};
  MapHolder holder_;
  ServerReporter reporter_;
};

TEST_F(ServerReporterTest, WhoIsWellSaysNothingUnlessOthersAreNot) {
  EXPECT_THAT(Next(), IsEmpty());
  AnswerAll(0, 8);
  EXPECT_THAT(Next(), IsEmpty());
  reporter_.SetSuspects({"kv-3", "kv-9"});
  EXPECT_THAT(Next(), ElementsAre("kv-3 well")) << "kv-9 was not used";
  reporter_.SetSuspects({});
  EXPECT_THAT(Next(), IsEmpty());
}

TEST_F(ServerReporterTest, TroubleIsSaidAsLongAsItIsMet) {
  AnswerAll(0, 8);
  Fail(3);
  EXPECT_THAT(Next(), ElementsAre("kv-3 no answer in time"));
  EXPECT_THAT(Next(Seconds(9)), ElementsAre("kv-3 no answer in time"));
  EXPECT_THAT(Next(Seconds(1)), IsEmpty()) << "nothing was sent there for 10 s";
  Fail(3, Problem::kBroken, 1);
  EXPECT_THAT(Next(), ElementsAre("kv-3 broken connections"));
  Answer(3);
  EXPECT_THAT(Next(), IsEmpty());
}

TEST_F(ServerReporterTest, WhoIsInTroubleWithASuspectIsNotWellWithIt) {
  AnswerAll(0, 8);
  Fail(3);
  reporter_.SetSuspects({"kv-3"});
  EXPECT_THAT(Next(), ElementsAre("kv-3 no answer in time"));
  // It is not used any more, but for a moment of before.
  EXPECT_THAT(Next(Seconds(11)), IsEmpty());
}

TEST_F(ServerReporterTest, AServerWithoutAConnectionIsNamed) {
  AnswerAll(0, 8);
  for (int i = 0; i < 6; ++i) Health(2).OnUnsent();
  EXPECT_THAT(Next(), ElementsAre("kv-2 no connection"));
}

TEST_F(ServerReporterTest, AServerWithTooMuchToDoIsNotBlamed) {
  AnswerAll(0, 8);
  Fail(3, std::nullopt);
  EXPECT_THAT(Next(), IsEmpty());
}

TEST_F(ServerReporterTest, F17_TroubleWithMoreThanAQuarterIsItsOwn) {
  AnswerAll(0, 8);
  Fail(1);
  Fail(2);
  EXPECT_THAT(Next(), ElementsAre("kv-1 no answer in time", "kv-2 no answer in time"));
  Fail(3);
  EXPECT_THAT(Next(), IsEmpty());
  reporter_.SetSuspects({"kv-4"});
  EXPECT_THAT(Next(), ElementsAre("kv-4 well"));
}

TEST_F(ServerReporterTest, TheOnlyServerThatIsUsedIsNamed) {
  Fail(1);
  EXPECT_THAT(Next(), ElementsAre("kv-1 no answer in time"));
}

TEST_F(ServerReporterTest, SlowIsWhoTakesTenTimesAsLongAsOthersOfItsRegion) {
  AnswerAll(0, 8, Milliseconds(10));
  AnswerAll(8, 16, Milliseconds(150));  // far, and so are all of them
  Answer(3, Milliseconds(90));
  EXPECT_THAT(Next(), IsEmpty());
  Answer(3, Milliseconds(110), 60);
  EXPECT_THAT(Next(), ElementsAre("kv-3 slow answers"));
}

TEST_F(ServerReporterTest, FewMillisecondsAreNotSlowAndTwoServersDoNotTell) {
  AnswerAll(0, 8, Milliseconds(1));
  Answer(3, Milliseconds(45), 60);
  EXPECT_THAT(Next(), IsEmpty());
  Answer(8, Milliseconds(1));
  Answer(9, Milliseconds(500), 60);
  EXPECT_THAT(Next(), IsEmpty());
}

}  // namespace
}  // namespace shardmanager::router
