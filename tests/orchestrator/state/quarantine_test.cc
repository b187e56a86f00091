#include "orchestrator/state/quarantine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/state/move_holds.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const ServerIndex kServer(1);
constexpr TimePoint kStart{};

class QuarantineTest : public testing::Test {
 protected:
  bool Fail(size_t shard, TimePoint now = kStart) {
    return quarantine.Failed(kServer, ShardIndex(shard), now, "disk full");
  }
  void MakeSick() {
    Fail(0);
    Fail(1);
    ASSERT_TRUE(Fail(2));
    quarantine.Begin(kServer, kStart);
  }
  TimePoint trial_at() const { return quarantine.Find(kServer)->trial_at; }

  Quarantine quarantine;
};

TEST_F(QuarantineTest, ThreeDifferentShardsInARowMakeAServerSuspect) {
  EXPECT_FALSE(Fail(0));
  EXPECT_FALSE(Fail(0));
  EXPECT_FALSE(Fail(1));
  EXPECT_TRUE(quarantine.IsFailing(kServer));
  EXPECT_TRUE(Fail(2));
  EXPECT_FALSE(quarantine.IsSick(kServer));
  EXPECT_FALSE(quarantine.IsFailing(ServerIndex(2)));
}

TEST_F(QuarantineTest, ASuccessInBetweenClearsIt) {
  Fail(0);
  Fail(1);
  EXPECT_FALSE(quarantine.Added(kServer, kStart));
  EXPECT_FALSE(quarantine.IsFailing(kServer));
  EXPECT_FALSE(Fail(2));
}

TEST_F(QuarantineTest, OthersCanWhatOneOfThemHasDoneSinceTheFirstFailure) {
  const ServerIndex other(2);
  quarantine.Added(other, kStart);
  quarantine.Added(kServer, kStart + Seconds(1));
  Fail(0, kStart + Seconds(2));
  Fail(1, kStart + Seconds(3));
  EXPECT_FALSE(quarantine.OthersCan(kServer));
  quarantine.Added(other, kStart + Seconds(2));
  EXPECT_TRUE(quarantine.OthersCan(kServer));
  EXPECT_FALSE(quarantine.OthersCan(other));
}

TEST_F(QuarantineTest, TrialsComeAtGrowingIntervalsUpToSixteenMinutes) {
  MakeSick();
  TimePoint now = kStart;
  for (const int seconds : {30, 60, 120, 240, 480, 960, 960}) {
    EXPECT_EQ(trial_at(), now + Seconds(seconds));
    // One that was asked for before does not count against the trial.
    EXPECT_FALSE(Fail(7, trial_at() - Milliseconds(1)));
    now = trial_at();
    EXPECT_TRUE(Fail(7, now));
    quarantine.Begin(kServer, now);
  }
}

TEST_F(QuarantineTest, ASuccessEndsItForGood) {
  MakeSick();
  EXPECT_EQ(quarantine.sick(), 1u);
  EXPECT_TRUE(quarantine.Added(kServer, kStart));
  EXPECT_EQ(quarantine.sick(), 0u);
  MakeSick();
  EXPECT_EQ(trial_at(), kStart + Seconds(30));
}

TEST_F(QuarantineTest, ARestartEndsItButTheNextOneIsLonger) {
  MakeSick();
  EXPECT_TRUE(quarantine.Restarted(kServer));
  EXPECT_FALSE(quarantine.Restarted(kServer));
  EXPECT_FALSE(quarantine.IsSick(kServer));
  EXPECT_EQ(quarantine.sick(), 0u);
  MakeSick();
  EXPECT_EQ(trial_at(), kStart + Seconds(60));
}

TEST(MoveHoldsTest, ThePauseDoublesUntilAMoveSucceeds) {
  MoveHolds holds;
  const ShardIndex shard(3);
  TimePoint now = kStart;
  EXPECT_EQ(holds.HeldUntil(shard, now), now);
  EXPECT_EQ(holds.Hold(shard, now), Seconds(60));
  EXPECT_EQ(holds.HeldUntil(shard, now), now + Seconds(60));
  now += Seconds(60);
  EXPECT_EQ(holds.HeldUntil(shard, now), now);
  for (const int minutes : {2, 4, 8, 16, 32, 32}) {
    EXPECT_EQ(holds.Hold(shard, now), Seconds(60 * minutes));
  }
  holds.Forget(shard);
  EXPECT_EQ(holds.HeldUntil(shard, now), now);
  EXPECT_EQ(holds.Hold(shard, now), Seconds(60));
}

TEST(MoveHoldsTest, WhereItFailedItIsNotMovedForAPauseThatDoubles) {
  MoveHolds holds;
  const ShardIndex shard(3);
  TimePoint now = kStart;
  for (const int minutes : {1, 2, 4, 8, 16, 32, 32}) {
    EXPECT_EQ(holds.HoldTo(shard, kServer, now), Seconds(60 * minutes));
    EXPECT_EQ(holds.HeldUntil(shard, now), now) << "it may go elsewhere";
    EXPECT_THAT(holds.ToAvoid(shard, now), ElementsAre(kServer));
    now += Seconds(60 * minutes);
    EXPECT_THAT(holds.ToAvoid(shard, now), IsEmpty());
  }
}

// Seed 14830 of the simulation: it failed on three servers in a minute, on each for the first time.
TEST(MoveHoldsTest, WhatFailsOnSeveralServersAtATimeIsOneFailure) {
  MoveHolds holds;
  const ShardIndex shard(3);
  const auto server = [](uint32_t i) { return ServerIndex(i); };
  const auto at = [](int seconds) { return kStart + Seconds(seconds); };
  EXPECT_EQ(holds.HoldTo(shard, server(1), at(0)), Seconds(60));
  EXPECT_EQ(holds.HoldTo(shard, server(2), at(1)), Seconds(60));
  EXPECT_EQ(holds.HeldUntil(shard, at(1)), at(1));
  EXPECT_EQ(holds.HoldTo(shard, server(3), at(2)), Seconds(60));
  EXPECT_EQ(holds.HeldUntil(shard, at(2)), at(32)) << "on three servers: it is not moved at all";
  EXPECT_EQ(holds.HoldTo(shard, server(4), at(61)), Seconds(120)) << "the first pause was over";
  EXPECT_THAT(holds.ToAvoid(shard, at(61)),
              ElementsAre(server(1), server(2), server(3), server(4)));
  EXPECT_EQ(holds.HeldUntil(shard, at(61)), at(121)) << "a fifth one is tried before those";
  EXPECT_THAT(holds.ToAvoid(shard, at(181)), IsEmpty());
}

TEST(MoveHoldsTest, AMoveThatFailsOnManyServersMayGoToTheFirstOnesAgain) {
  MoveHolds holds;
  const ShardIndex shard(3);
  for (uint32_t i = 0; i < 100; ++i) holds.HoldTo(shard, ServerIndex(i), kStart);
  EXPECT_EQ(holds.ToAvoid(shard, kStart).size(), MoveHolds::kMostAvoided);
  EXPECT_EQ(holds.ToAvoid(shard, kStart).back(), ServerIndex(99));
}

// Seed 940 of the simulation: a drain waited for eight minutes, as the shard could not be added
// on three other servers before.
TEST(MoveHoldsTest, WhereItCouldNotBeAddedDoesNotLengthenThePauseAfterAMoveThatWasCalledOff) {
  MoveHolds holds;
  const ShardIndex shard(3);
  EXPECT_EQ(holds.HoldTo(shard, kServer, kStart), Seconds(60));
  EXPECT_EQ(holds.HoldTo(shard, kServer, kStart + Seconds(60)), Seconds(120));
  EXPECT_EQ(holds.Hold(shard, kStart + Seconds(60)), Seconds(60));
  EXPECT_EQ(holds.Hold(shard, kStart + Seconds(120)), Seconds(120));
  EXPECT_EQ(holds.HoldTo(shard, kServer, kStart + Seconds(180)), Seconds(240));
}

}  // namespace
}  // namespace shardmanager::orchestrator
