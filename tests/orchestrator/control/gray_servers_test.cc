#include "orchestrator/control/gray_servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/drain.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Duration kTick = Seconds(2);

// An app whose drains are carried out at once, second by second.
class GrayServersTest : public ::testing::Test {
 protected:
  explicit GrayServersTest(int servers = 20) {
    for (int i = 0; i < servers; ++i) world_.live.push_back({absl::StrCat("kv-", i), 1, false});
    world_.wall_ms = 1'000'000;
    Pass(GrayServers::kAfterStart);
  }

  void Say(const std::string& server, uint64_t in_trouble, uint64_t well,
           Problem problem = Problem::kNoAnswer) {
    ServerView view{.well = well};
    view.trouble[static_cast<size_t>(problem)] = in_trouble;
    world_.said[server] = view;
  }
  void Restart(const std::string& server) {
    for (GrayServers::Server& live : world_.live) live.life += live.name == server ? 1 : 0;
  }
  void Kill(const std::string& server) {
    std::erase_if(world_.live, [&](const auto& live) { return live.name == server; });
  }

  // Looks every 2 s for so long. What was ordered: "+kv-3", "-kv-3: why".
  std::vector<std::string> Pass(Duration time) {
    std::vector<std::string> ordered;
    for (const TimePoint end = world_.now + time; world_.now < end;) {
      world_.now += kTick;
      world_.wall_ms += kTick / Milliseconds(1);
      const GrayServers::Orders orders = gray_.Decide(world_);
      for (const auto& [server, why] : orders.end) {
        ordered.push_back(absl::StrCat("-", server, ": ", why));
        std::erase_if(world_.drains,
                      [&](const v1::Drain& drain) { return drain.scope().server() == server; });
      }
      for (const v1::Drain& drain : orders.begin) {
        ordered.push_back(absl::StrCat("+", drain.scope().server()));
        world_.drains.push_back(drain);
        EXPECT_TRUE(ValidateDrain(drain).ok());
      }
    }
    return ordered;
  }
  static constexpr Duration kPatience = Seconds(30);

  GrayServers gray_;
  GrayServers::World world_;
};

TEST_F(GrayServersTest, AServerThatMostOfItsClientsCannotUseIsDrainedAfterTheirPatience) {
  Say("kv-3", 14, 1);
  EXPECT_THAT(Pass(kPatience), IsEmpty());
  EXPECT_THAT(gray_.conditions(),
              ElementsAre("kv-3: 14 clients cannot use it (no answer in time), 1 can; it is not "
                          "drained: that has to last for another 2 s"));
  EXPECT_THAT(Pass(kTick), ElementsAre("+kv-3"));
  const v1::Drain& drain = world_.drains.front();
  EXPECT_EQ(drain.reason(), "14 clients cannot use it (no answer in time), 1 can");
  EXPECT_EQ(drain.by_clients().life(), 1u);
  EXPECT_EQ(drain.by_clients().until_ms() - drain.since_ms(), 300'000);
  EXPECT_FALSE(drain.by_clients().may_follow_shards());
}

TEST_F(GrayServersTest, FewClientsAndThoseThatMoreCanContradictDrainNobody) {
  Say("kv-3", 2, 0);
  Say("kv-4", 30, 30);
  EXPECT_THAT(Pass(kPatience * 4), IsEmpty());
  EXPECT_THAT(gray_.conditions(),
              ElementsAre(HasSubstr("fewer clients than client_reports.min_clients, 3")));
  world_.rules.min_clients = 1;
  EXPECT_THAT(Pass(kPatience * 4), ElementsAre("+kv-3"));
}

TEST_F(GrayServersTest, ComplaintsThatStopInBetweenBeginAnew) {
  Say("kv-3", 3, 0);
  EXPECT_THAT(Pass(kPatience - kTick), IsEmpty());
  world_.said.clear();
  EXPECT_THAT(Pass(kTick), IsEmpty());
  Say("kv-3", 3, 0);
  EXPECT_THAT(Pass(kPatience), IsEmpty());
}

TEST_F(GrayServersTest, ItIsTriedAgainAfterTimesThatDouble) {
  for (const int64_t minutes : {5, 10, 20, 40, 80, 160, 160}) {
    Say("kv-3", 3, 0);
    EXPECT_THAT(Pass(kPatience + kTick), ElementsAre("+kv-3"));
    world_.said.clear();  // nobody uses it any more
    EXPECT_THAT(Pass(Seconds(60) * minutes - kTick), IsEmpty());
    EXPECT_THAT(Pass(kTick), ElementsAre("-kv-3: it is tried again"));
  }
  EXPECT_THAT(Pass(Seconds(60) * 161), IsEmpty());
  Say("kv-3", 3, 0);
  Pass(kPatience + kTick);
  EXPECT_EQ(world_.drains.front().by_clients().until_ms() - world_.drains.front().since_ms(),
            300'000)
      << "it was well for longer than it had been drained";
}

TEST_F(GrayServersTest, ANewLeaderGoesOnWithTheTimesOfTheOneBefore) {
  Say("kv-3", 3, 0);
  Pass(kPatience + kTick);
  world_.said.clear();
  Pass(Seconds(300));
  Say("kv-3", 3, 0);
  EXPECT_THAT(Pass(kPatience + kTick), ElementsAre("+kv-3"));
  gray_ = GrayServers();
  world_.said.clear();
  EXPECT_THAT(Pass(Seconds(600)), ElementsAre("-kv-3: it is tried again"));
  Say("kv-3", 3, 0);
  EXPECT_THAT(Pass(kPatience + kTick), ElementsAre("+kv-3"));
  EXPECT_EQ(world_.drains.front().by_clients().until_ms() - world_.drains.front().since_ms(),
            1'200'000);
}

TEST_F(GrayServersTest, WhileClientsStillFailThereItStaysDrained) {
  Say("kv-3", 3, 0);
  EXPECT_THAT(Pass(Seconds(3'600)), ElementsAre("+kv-3")) << "its shards cannot leave, say";
}

TEST_F(GrayServersTest, ANewProcessIsTriedAtOnceAndNotBlamedForTheOneBefore) {
  Say("kv-3", 3, 0);
  Pass(kPatience + kTick);
  Restart("kv-3");
  EXPECT_THAT(Pass(kTick), ElementsAre("-kv-3: it has a new process"));
  // What its clients said of the former process counts on for a while.
  EXPECT_THAT(Pass(kReportCounts), IsEmpty());
  EXPECT_THAT(gray_.conditions(), IsEmpty());
  EXPECT_THAT(Pass(GrayServers::kAfterStart - kReportCounts + kPatience), ElementsAre("+kv-3"));
}

TEST_F(GrayServersTest, F17_WhenClientsCannotUseMoreThanTheLimitNobodyIsDrained) {
  for (const char* server : {"kv-1", "kv-2", "kv-3"}) Say(server, 50, 1);
  EXPECT_THAT(Pass(kPatience * 10), IsEmpty());
  EXPECT_THAT(gray_.conditions(),
              ElementsAre(HasSubstr("kv-1: 50 clients"),
                          HasSubstr("clients cannot use 3 servers, and 2 of 20 may be drained"),
                          HasSubstr("(client_reports.max_servers)")));
}

TEST_F(GrayServersTest, F17_ThoseThatFailOneAfterTheOtherCountTogetherFromTheStart) {
  Say("kv-1", 50, 1);
  EXPECT_THAT(Pass(kPatience - kTick), IsEmpty());
  Say("kv-2", 50, 1);
  Say("kv-3", 50, 1);  // within the patience with the first one
  EXPECT_THAT(Pass(kPatience * 4), IsEmpty());
}

TEST_F(GrayServersTest, WithOneDrainedAlreadyTheLimitHoldsForBoth) {
  world_.rules.max_servers = {1, false};
  Say("kv-1", 5, 0);
  EXPECT_THAT(Pass(kPatience + kTick), ElementsAre("+kv-1"));
  Say("kv-2", 5, 0);
  EXPECT_THAT(Pass(kPatience * 4), IsEmpty());
}

class TwoServersTest : public GrayServersTest {
 protected:
  TwoServersTest() : GrayServersTest(2) {}
};

TEST_F(TwoServersTest, WhenTheOtherOneDiesTheDrainedOneIsUsedAgain) {
  Say("kv-0", 5, 0);
  EXPECT_THAT(Pass(kPatience + kTick), ElementsAre("+kv-0"));
  Kill("kv-1");
  EXPECT_THAT(Pass(kTick), ElementsAre("-kv-0: too few other servers live"));
  EXPECT_THAT(Pass(kPatience * 4), IsEmpty());
  EXPECT_THAT(gray_.conditions(), ElementsAre(HasSubstr("0 of 1 may be drained")));
}

TEST_F(GrayServersTest, TheOldestIsReleasedFirstWhenTheFleetShrinks) {
  Say("kv-1", 5, 0);
  Pass(kPatience + kTick);
  Say("kv-2", 5, 0);
  Pass(kPatience + kTick);
  ASSERT_EQ(world_.drains.size(), 2u);
  for (int i = 10; i < 20; ++i) Kill(absl::StrCat("kv-", i));
  EXPECT_THAT(Pass(kTick), ElementsAre("-kv-1: too few other servers live"));
}

TEST_F(GrayServersTest, ADrainOfAServerThatIsGoneEndsWithItsTime) {
  Say("kv-1", 5, 0);
  Pass(kPatience + kTick);
  Kill("kv-1");
  world_.said.clear();
  EXPECT_THAT(Pass(Seconds(298)), IsEmpty());
  EXPECT_THAT(Pass(kTick), ElementsAre("-kv-1: it is tried again"));
}

TEST_F(GrayServersTest, AClockThatIsSetBackKeepsNobodyDrainedForEver) {
  Say("kv-1", 5, 0);
  Pass(kPatience + kTick);
  world_.said.clear();
  world_.wall_ms -= 86'400'000;
  EXPECT_THAT(Pass(kTick), ElementsAre("-kv-1: it is tried again"));
}

TEST_F(GrayServersTest, ErrorsThatGoWithTheShardsAreBlamedOnNoServer) {
  Say("kv-1", 9, 0, Problem::kErrors);
  EXPECT_THAT(Pass(kPatience + kTick), ElementsAre("+kv-1"));
  world_.said.clear();
  Say("kv-2", 9, 0, Problem::kErrors);  // which got its shards
  EXPECT_THAT(Pass(kTick), ElementsAre("-kv-1: other servers fail in the same way since then"));
  EXPECT_THAT(Pass(GrayServers::kFollowing / 2), IsEmpty());
  EXPECT_THAT(gray_.conditions(), ElementsAre(HasSubstr("that may come from the shards")));
  Say("kv-3", 9, 0, Problem::kNoConnection);  // that is something else
  EXPECT_THAT(Pass(kPatience + kTick), ElementsAre("+kv-3"));
}

TEST_F(GrayServersTest, TwoServersWithErrorsAtTheSameTimeAreNotDrained) {
  Say("kv-1", 9, 0, Problem::kErrors);
  Say("kv-2", 9, 0, Problem::kSlow);
  EXPECT_THAT(Pass(kPatience * 4), IsEmpty());
}

TEST_F(GrayServersTest, ShowSaysWhatClientsSayAndDrainsNobody) {
  world_.rules.drain = false;
  Say("kv-1", 9, 0);
  EXPECT_THAT(Pass(kPatience * 4), IsEmpty());
  EXPECT_THAT(gray_.conditions(), ElementsAre(HasSubstr("client_reports.action is SHOW")));
  world_.rules.drain = true;
  EXPECT_THAT(Pass(kTick), ElementsAre("+kv-1"));
  world_.rules.drain = false;
  EXPECT_THAT(Pass(kTick), ElementsAre("-kv-1: client_reports.action is SHOW"));
}

TEST_F(GrayServersTest, WhatIsDrainedAnywayIsLeftToWhoDrainsIt) {
  world_.live[1].drained = true;
  Say("kv-1", 9, 0);
  EXPECT_THAT(Pass(kPatience * 4), IsEmpty());
  EXPECT_THAT(gray_.conditions(), IsEmpty());
}

TEST_F(GrayServersTest, UnknownServersAreNobodys) {
  Say("kv-99", 9, 0);
  EXPECT_THAT(Pass(kPatience * 4), IsEmpty());
  EXPECT_THAT(gray_.conditions(), IsEmpty());
}

}  // namespace
}  // namespace shardmanager::orchestrator
