// Servers and regions that come and go do not take shards back and forth.
#include "orchestrator/state/steadiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::StartsWith;

constexpr Duration kAfter = Seconds(60);

// How long the server has to live after it was lost so often, a minute apart.
Duration WaitAfter(int losses) {
  Steadiness server;
  TimePoint now{};
  for (int i = 0; i < losses; ++i) server.Lost(now += Seconds(60));
  server.Began(now, kAfter);
  return server.steady_at() - now;
}

TEST(SteadinessTest, OneLossIsForgivenAndEachFurtherOneDoublesTheWait) {
  EXPECT_EQ(WaitAfter(0), Seconds(0));
  EXPECT_EQ(WaitAfter(1), Seconds(0));
  EXPECT_EQ(WaitAfter(2), Seconds(60));
  EXPECT_EQ(WaitAfter(3), Seconds(120));
  EXPECT_EQ(WaitAfter(5), Seconds(480));
  EXPECT_EQ(WaitAfter(6), Seconds(900));
  EXPECT_EQ(WaitAfter(500), Seconds(900)) << "no wait is longer";
  Steadiness server;
  for (int i = 0; i < 500; ++i) server.Lost(TimePoint(Seconds(i)));
  server.Began(TimePoint(Seconds(500)), Seconds(1));
  EXPECT_EQ(server.steady_at(), TimePoint(Seconds(516))) << "at most 16 times the first";
}

TEST(SteadinessTest, LossesAreForgottenAfterAQuarterOfAnHour) {
  Steadiness server;
  TimePoint now{};
  for (int i = 0; i < 4; ++i) server.Lost(now += Seconds(60));
  server.Began(now + Seconds(900), kAfter);
  EXPECT_TRUE(server.IsSteady(now + Seconds(900))) << "it was away for so long";
  server.Lost(now + Seconds(900));
  EXPECT_EQ(server.losses(), 1);
}

// Two regions with four servers each; all shards are wanted in "a".
class FlappingTest : public ::testing::Test {
 protected:
  static constexpr int kShards = 40;
  static constexpr int kServers = 4;  // of each region

  void Start(v1::ReplicationStrategy strategy, uint32_t replicas) {
    v1::AppSpec spec = TestSpec(kShards, strategy, replicas);
    spec.mutable_failover()->set_delay_ms(5'000);
    spec.mutable_placement()->set_preferred_region("a");
    world_.emplace(spec);
    world().Start();
    for (const char* region : {"a", "b"}) {
      for (int i = 0; i < kServers; ++i) world().Join(absl::StrCat(region, i), region);
    }
    world().Advance(Seconds(300));
    world().notes.clear();
    world().commands.clear();
  }
  void Flap(Duration away, Duration back) {
    for (int i = 0; i < kServers; ++i) world().Die(absl::StrCat("a", i));
    world().Advance(away);
    EXPECT_EQ(AtHome(), 0);
    for (int i = 0; i < kServers; ++i) world().Join(absl::StrCat("a", i), "a");
    world().Advance(back);
  }
  // Shards that are, or whose primary is, in the region that is wanted.
  int AtHome() {
    int count = 0;
    for (int i = 0; i < kShards; ++i) {
      const auto roles = world().Roles(absl::StrCat("s-", i));
      count += std::any_of(roles.begin(), roles.end(), [](const std::string& role) {
        return role.starts_with("a") && role.ends_with("*");
      });
    }
    return count;
  }
  World& world() { return *world_; }

 private:
  std::optional<World> world_;
};

TEST_F(FlappingTest, ARegionThatComesAndGoesEveryHalfMinuteTakesItsShardsBackOnce) {
  Start(v1::PRIMARY_ONLY, 1);
  ASSERT_EQ(AtHome(), kShards);
  for (int i = 0; i < 10; ++i) Flap(Seconds(30), Seconds(30));
  const auto is_home = [](const std::string& command) {
    return command.starts_with("add ") && command.find(" a") != std::string::npos;
  };
  const auto adds = std::count_if(world().commands.begin(), world().commands.end(), is_home);
  // They go home once, and are evened out there. Ten times would be ten times as many.
  EXPECT_THAT(adds, Le(2 * kShards));
  EXPECT_EQ(AtHome(), 0);
  EXPECT_EQ(world().Served(), static_cast<size_t>(kShards)) << "nothing waits for the region";
  world().Advance(Seconds(1'200));
  EXPECT_EQ(AtHome(), kShards) << "it has been there for long enough";
}

TEST_F(FlappingTest, PrimariesDoNotComeAndGoWithIt) {
  Start(v1::PRIMARY_SECONDARY, 2);
  ASSERT_EQ(AtHome(), kShards);
  for (int i = 0; i < 3; ++i) Flap(Seconds(30), Seconds(30));
  world().notes.clear();
  Flap(Seconds(30), Seconds(90));
  EXPECT_EQ(AtHome(), 0);
  EXPECT_EQ(world().NoteCount(NoteKind::kPrimaryElected), 0U);
  world().Advance(Seconds(1'200));
  EXPECT_EQ(AtHome(), kShards);
}

TEST_F(FlappingTest, ItIsSaidOfEachServerWhyItIsGivenNothing) {
  Start(v1::PRIMARY_ONLY, 1);
  Flap(Seconds(30), Seconds(1));
  EXPECT_EQ(world().DrainState("a0").second, "");
  Flap(Seconds(30), Seconds(1));
  EXPECT_THAT(world().DrainState("a0").second,
              HasSubstr("lost 2 times in a row: for another 59 s it is given nothing"));
  std::vector<std::string> details;
  for (const Note& note : world().notes) {
    if (note.kind == NoteKind::kServerUnsteady) details.push_back(note.detail);
  }
  EXPECT_EQ(details.size(), static_cast<size_t>(kServers));
  EXPECT_THAT(details, Each(StartsWith("lost 2 times in a row: for 60 s")));
}

TEST_F(FlappingTest, WhatAServerHoldsStaysThere) {
  Start(v1::PRIMARY_ONLY, 1);
  for (int i = 0; i < 3; ++i) {
    world().Die("a0");  // for less than failover.delay_ms
    world().Advance(Seconds(1));
    world().Join("a0", "a");
    world().Advance(Seconds(20));
  }
  EXPECT_THAT(world().DrainState("a0").second, HasSubstr("lost 3 times in a row"));
  EXPECT_EQ(AtHome(), kShards);
  EXPECT_EQ(world().NoteCount(NoteKind::kMoveStarted), 0U);
}

TEST_F(FlappingTest, WhereAllComeAndGoNobodyIsLeftOut) {
  Start(v1::PRIMARY_ONLY, 1);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < kServers; ++j) world().Die(absl::StrCat("b", j));
    Flap(Seconds(30), Seconds(0));
    for (int j = 0; j < kServers; ++j) world().Join(absl::StrCat("b", j), "b");
  }
  world().Advance(Seconds(60));
  EXPECT_EQ(AtHome(), kShards);
}

TEST_F(FlappingTest, AServerThatSaysGoodByeIsSteady) {
  Start(v1::PRIMARY_ONLY, 1);
  for (int i = 0; i < 5; ++i) {
    world().Depart("a0");
    world().Advance(Seconds(30));
    world().Join("a0", "a");
    world().Advance(Seconds(30));
  }
  EXPECT_EQ(world().DrainState("a0").second, "");
}

}  // namespace
}  // namespace shardmanager::orchestrator
