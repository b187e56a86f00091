#include "orchestrator/state/quarantine.h"

#include <gtest/gtest.h>

#include "orchestrator/state/move_holds.h"

namespace shardmanager::orchestrator {
namespace {

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
  EXPECT_EQ(holds.Find(shard, kStart), nullptr);
  EXPECT_EQ(holds.Hold(shard, kServer, kStart), Seconds(60));
  EXPECT_EQ(holds.Find(shard, kStart)->avoid, kServer);
  EXPECT_NE(holds.Find(shard, kStart + Seconds(60) - Milliseconds(1)), nullptr);
  EXPECT_EQ(holds.Find(shard, kStart + Seconds(60)), nullptr);
  EXPECT_EQ(holds.Hold(shard, kServer, kStart + Seconds(90)), Seconds(120));
  for (int i = 0; i < 5; ++i) holds.Hold(shard, kServer, kStart);
  EXPECT_EQ(holds.Hold(shard, kServer, kStart), Seconds(60 * 32));
  holds.Forget(shard);
  EXPECT_EQ(holds.Find(shard, kStart), nullptr);
  EXPECT_EQ(holds.Hold(shard, kServer, kStart), Seconds(60));
}

// Seed 940 of the simulation: a drain waited for eight minutes, as the shard could not be added
// on three other servers before.
TEST(MoveHoldsTest, WhereItCouldNotBeAddedDoesNotLengthenThePauseAfterAMoveThatWasCalledOff) {
  MoveHolds holds;
  const ShardIndex shard(3);
  for (int i = 0; i < 3; ++i) holds.Hold(shard, kServer, kStart);
  EXPECT_EQ(holds.Hold(shard, ServerIndex(), kStart), Seconds(60));
  EXPECT_FALSE(holds.Find(shard, kStart)->avoid.valid());
  EXPECT_EQ(holds.Hold(shard, ServerIndex(), kStart), Seconds(120));
  EXPECT_EQ(holds.Hold(shard, kServer, kStart), Seconds(480));
}

}  // namespace
}  // namespace shardmanager::orchestrator
