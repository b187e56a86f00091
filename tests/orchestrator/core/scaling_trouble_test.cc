// The number of replicas follows the load, too, where servers are missing, full or drained.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/orchestrator/core/scaling_fixture.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ScalingTroubleTest = ScalingTest;

// s-0 is to have three replicas, and one never begins to serve: the shard never is whole.
class ScalingOutOfStepTest : public ScalingTest {
 protected:
  void StartWithOneThatNeverServes() {
    Start(ScalingSpec(1));
    Carry("s-0", 95);
    world().Advance(Seconds(60));
    ASSERT_EQ(Replicas("s-0"), 2U);
    world().hold_adds = true;
    Carry("s-0", 140);
    while (world().adds.empty()) world().Advance(Seconds(1));
  }
};

TEST_F(ScalingOutOfStepTest, MoreAreAddedForItsLoad) {
  StartWithOneThatNeverServes();
  Carry("s-0", 280);
  world().Advance(Seconds(50));
  EXPECT_EQ(world().partition().state().tables.shard(ShardIndex(0)).wanted, 3U) << "it is settling";
  world().Advance(Seconds(60));
  EXPECT_GE(world().partition().state().tables.shard(ShardIndex(0)).wanted, 4U);
}

TEST_F(ScalingOutOfStepTest, OneFewerIsEnoughOnlyIfTheMissingOneWereBusy) {
  StartWithOneThatNeverServes();
  Carry("s-0", 75);  // of which two carry 50
  world().Advance(Seconds(600));
  EXPECT_EQ(world().partition().state().tables.shard(ShardIndex(0)).wanted, 3U)
      << "with the one that is missing there may be 100 to carry, and two are to carry 90";
  Carry("s-0", 30);
  world().Advance(Seconds(1'000));
  EXPECT_EQ(world().partition().state().tables.shard(ShardIndex(0)).wanted, 1U)
      << "what is missing is not wanted any more";
}

// s-0 waits for a server that may be back.
TEST_F(ScalingTroubleTest, AShardThatLacksAReplicaForItsLoadAloneHoldsUpNoOther) {
  Start(ScalingSpec(3, v1::SECONDARY_ONLY, 2), /*servers=*/4);
  Carry("s-0", 190);
  world().Advance(Seconds(120));
  ASSERT_EQ(Replicas("s-0"), 4U);
  world().Die("kv-3");  // it may be back: s-0 waits for a place
  world().Advance(Seconds(30));
  ASSERT_EQ(Replicas("s-0"), 3U);
  ASSERT_GT(world().partition().state().missing.waiting(), 0U);
  Carry("s-1", 150);
  world().Advance(Seconds(60));
  EXPECT_EQ(Replicas("s-1"), 3U);
}

TEST_F(ScalingTroubleTest, ANewServerIsTriedAtOnce) {
  Start(ScalingSpec(1, v1::SECONDARY_ONLY, 2), /*servers=*/3);
  Carry("s-0", 400);
  world().Advance(Seconds(120));
  ASSERT_EQ(Replicas("s-0"), 3U);
  ASSERT_THAT(Says(), HasSubstr("there is no room for more"));
  world().Join("kv-9");
  world().Advance(Seconds(30));
  EXPECT_EQ(Replicas("s-0"), 4U);
}

TEST_F(ScalingTroubleTest, AReplicaForTheLoadAloneHoldsUpNoDrain) {
  StartWithFour(ScalingSpec(1), /*servers=*/4);
  v1::Drain& drain = *world().ordered.drains.emplace(world().ordered.drains.end());
  drain.mutable_scope()->set_server("kv-2");
  world().Apply(world().partition().state().spec);
  world().Advance(Seconds(60));
  EXPECT_THAT(world().Holders("s-0"), Not(Contains("kv-2")));
  EXPECT_EQ(Replicas("s-0"), 3U);
  EXPECT_THAT(Says(), HasSubstr("there is no room for more"));
  world().ordered.drains.clear();
  world().Apply(world().partition().state().spec);
  world().Advance(Seconds(60));
  EXPECT_EQ(Replicas("s-0"), 4U) << "kv-2 takes replicas again";
}

}  // namespace
}  // namespace shardmanager::orchestrator
