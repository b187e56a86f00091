#include "router/server_health.h"

#include <gtest/gtest.h>

namespace shardmanager::router {
namespace {

constexpr Duration kFast = Milliseconds(2);

void Tell(ServerHealth& health, Impression impression, int times, Duration took = kFast) {
  for (int i = 0; i < times; ++i) {
    health.OnSend();
    health.OnEnd(impression, took);
  }
}

constexpr TimePoint At(int64_t ms) { return TimePoint(Milliseconds(ms)); }

TEST(ServerHealthTest, SixBadRequestsInARowAreTrouble) {
  ServerHealth health;
  Tell(health, Impression::kGood, 100);
  Tell(health, Impression::kBad, 5);
  EXPECT_FALSE(health.in_trouble());
  Tell(health, Impression::kBad, 1);
  EXPECT_TRUE(health.in_trouble());
}

TEST(ServerHealthTest, ConnectionsThatFailAreTroubleToo) {
  ServerHealth health;
  for (int i = 0; i < 6; ++i) health.OnUnsent();
  EXPECT_TRUE(health.in_trouble());
  EXPECT_EQ(health.in_flight(), 0u);
}

TEST(ServerHealthTest, AFewBadRequestsAmongManyAreNone) {
  ServerHealth health;
  for (int i = 0; i < 1'000; ++i) {
    Tell(health, Impression::kGood, 2);
    Tell(health, Impression::kBad, 1);
    ASSERT_FALSE(health.in_trouble());
  }
}

TEST(ServerHealthTest, RefusalsAreNotTheServersFault) {
  ServerHealth health;
  Tell(health, Impression::kNone, 100, Seconds(1));
  EXPECT_FALSE(health.in_trouble());
  EXPECT_EQ(health.latency(), Duration(0));
}

TEST(ServerHealthTest, ThreeGoodRequestsInARowEndTheWorstTrouble) {
  ServerHealth health;
  Tell(health, Impression::kBad, 1'000);
  Tell(health, Impression::kGood, 2);
  EXPECT_TRUE(health.in_trouble());
  Tell(health, Impression::kBad, 1);
  Tell(health, Impression::kGood, 1);
  EXPECT_TRUE(health.in_trouble()) << "one went wrong in between";
  Tell(health, Impression::kGood, 2);
  EXPECT_FALSE(health.in_trouble());
}

TEST(ServerHealthTest, AfterItsTroubleItTakesSeveralBadRequestsAgain) {
  ServerHealth health;
  Tell(health, Impression::kBad, 50);
  Tell(health, Impression::kGood, 3);
  Tell(health, Impression::kBad, 3);
  EXPECT_FALSE(health.in_trouble());
}

TEST(ServerHealthTest, LatencyFollowsAServerThatBecomesSlowAndOneThatBecomesFast) {
  ServerHealth health;
  Tell(health, Impression::kGood, 1, Milliseconds(10));
  EXPECT_EQ(health.latency(), Milliseconds(10));
  Tell(health, Impression::kGood, 1, Milliseconds(90));
  EXPECT_EQ(health.latency(), Milliseconds(20)) << "once is not often";
  Tell(health, Impression::kGood, 40, Milliseconds(90));
  EXPECT_GT(health.latency(), Milliseconds(89));
  Tell(health, Impression::kGood, 7, Milliseconds(10));
  EXPECT_LT(health.latency(), Milliseconds(11));
}

TEST(ServerHealthTest, ToFailFastIsNotToBeFast) {
  ServerHealth health;
  Tell(health, Impression::kGood, 1, Milliseconds(10));
  Tell(health, Impression::kBad, 50, Duration(1));
  EXPECT_EQ(health.latency(), Milliseconds(10));
  Tell(health, Impression::kBad, 1, Milliseconds(90));
  EXPECT_EQ(health.latency(), Milliseconds(20)) << "what was waited for in vain counts";
}

TEST(ServerHealthTest, AnAnswerInNoTimeIsKnown) {
  ServerHealth health;
  Tell(health, Impression::kGood, 1, Duration(0));
  EXPECT_GT(health.latency(), Duration(0));
}

TEST(ServerHealthTest, CountsWhatIsUnderWay) {
  ServerHealth health;
  health.OnSend();
  health.OnSend();
  health.OnEnd(Impression::kNone, kFast);
  EXPECT_EQ(health.in_flight(), 1u);
}

TEST(ServerHealthTest, OneProbeASecond) {
  ServerHealth health;
  EXPECT_TRUE(health.TakeProbe(At(5'000)));
  EXPECT_FALSE(health.TakeProbe(At(5'999)));
  EXPECT_TRUE(health.TakeProbe(At(6'000)));
}

}  // namespace
}  // namespace shardmanager::router
