// A pinned shard is left where it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "orchestrator/describe/status.h"
#include "tests/orchestrator/core/left_alone_fixture.h"
#include "tests/orchestrator/roles/roles_fixture.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

v1::Pin PinOf(const std::string& shard) {
  v1::Pin pin;
  pin.set_shard(shard);
  pin.set_who("jo");
  pin.set_reason("repair");
  return pin;
}

class PinTest : public LeftAloneTest {
 protected:
  explicit PinTest(const v1::AppSpec& with = TestSpec(12)) : LeftAloneTest(with) {}
  void Pin(const std::string& shard) {
    world.ordered.pins = {PinOf(shard)};
    world.Apply(spec);
  }
  void Unpin() {
    world.ordered.pins.clear();
    world.Apply(spec);
  }
  std::string OneOn(const std::string& server) const {
    return world.servers.at(server).held.begin()->first;
  }
};

TEST_F(PinTest, ADrainLeavesItUntilItIsUnpinned) {
  const std::string shard = OneOn("kv-1");
  Pin(shard);
  Drain("kv-1");
  world.Advance(Seconds(120));
  EXPECT_EQ(world.Counts().at("kv-1"), 1u) << "all others have left";
  EXPECT_THAT(world.Holders(shard), ElementsAre("kv-1"));
  EXPECT_THAT(world.WaitsOf(shard), Contains(EndsWith(", by jo: repair")));
  EXPECT_EQ(world.NoteCount(NoteKind::kDrained), 0u);
  EXPECT_THAT(world.DrainState("kv-1").second, HasSubstr("left, as a shard is pinned there"));
  Unpin();
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Counts().at("kv-1"), 0u);
  EXPECT_EQ(world.Served(), 12u);
  EXPECT_EQ(world.NoteCount(NoteKind::kPinned), 1u) << "said once, however often a spec is applied";
  EXPECT_EQ(world.NoteCount(NoteKind::kUnpinned), 1u);
}

TEST_F(PinTest, HoldsForTheNextLeaderFromItsFirstPassOn) {
  const std::string shard = OneOn("kv-1");
  world.hold_plans = true;
  Drain("kv-1");
  Pin(shard);
  world.plans.clear();
  world.hold_plans = false;
  world.Restart();
  world.Advance(Seconds(120));
  EXPECT_THAT(world.Holders(shard), ElementsAre("kv-1"));
  EXPECT_EQ(world.Counts().at("kv-1"), 1u);
}

TEST_F(PinTest, APlanFromBeforeMovesTheOthersOnly) {
  const std::string shard = OneOn("kv-1");
  world.hold_plans = true;
  Drain("kv-1");
  ASSERT_THAT(world.plans, Not(IsEmpty()));
  Pin(shard);
  world.FinishPlan();
  world.Advance(Seconds(5));
  EXPECT_THAT(world.Holders(shard), ElementsAre("kv-1"));
  EXPECT_LT(world.Counts().at("kv-1"), 4u);
}

TEST_F(PinTest, BalanceTakesOthers) {
  world.ordered.pins = {};
  for (const auto& [shard, held] : world.servers.at("kv-0").held) {
    world.ordered.pins.push_back(PinOf(shard));
  }
  world.Apply(spec);
  world.Join("kv-3");
  world.Advance(Seconds(120));
  EXPECT_EQ(world.Counts().at("kv-0"), 4u);
  EXPECT_GE(world.Counts().at("kv-3"), 2u);
}

TEST_F(PinTest, WhatIsLostIsFailedOver) {
  const std::string shard = OneOn("kv-1");
  Pin(shard);
  world.Die("kv-1");
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Served(), 12u);
  EXPECT_THAT(world.Holders(shard), Not(Contains("kv-1")));
}

// It is placed, and stays from then on.
TEST_F(PinTest, HoldsForAShardThatTheSpecGetsLater) {
  world.ordered.pins = {PinOf("s-13")};
  world.Apply(spec);
  world.Apply(TestSpec(14));
  world.Advance(Seconds(60));
  ASSERT_EQ(world.Served(), 14u);
  const std::string holder = world.Holders("s-13").at(0);
  world.ordered.drains = {DrainOf(holder)};
  world.Apply(TestSpec(14));
  world.Advance(Seconds(120));
  EXPECT_THAT(world.Holders("s-13"), ElementsAre(holder));
}

TEST_F(PinTest, AShardThatTheSpecDropsGoes) {
  Pin("s-11");
  world.Apply(TestSpec(11));
  world.Advance(Seconds(60));
  EXPECT_THAT(world.Holders("s-11"), IsEmpty());
}

TEST_F(PinTest, TheAppAndTheShardSayWhoPinnedIt) {
  Pin("s-3");
  const PartitionState& state = world.partition().state();
  EXPECT_EQ(DescribeShards(state, "s-3").at(0).pin().who(), "jo");
  EXPECT_FALSE(DescribeShards(state, "s-4").at(0).has_pin());
  const v1::AppStatus status = DescribeApp(state, world.now);
  ASSERT_EQ(status.pins_size(), 1);
  EXPECT_EQ(status.pins(0).shard(), "s-3");
  EXPECT_THAT(status.conditions(), IsEmpty()) << "clients are served as ever";
}

class PinInAMoveTest : public PinTest {
 protected:
  PinInAMoveTest() : PinTest(OneMoveAtATime()) {}
};

TEST_F(PinInAMoveTest, AMoveThatIsUnderWayIsFinished) {
  ASSERT_NO_FATAL_FAILURE(BeginMoves("kv-1"));
  for (const auto& [shard, held] : world.servers.at("kv-1").held) {
    world.ordered.pins.push_back(PinOf(shard));
  }
  world.Apply(spec);
  FinishMoves();
  EXPECT_EQ(world.Served(), 12u) << "nothing is left half way";
  EXPECT_EQ(world.Counts().at("kv-1"), 3u) << "and no further move begins";
}

TEST_F(PinInAMoveTest, IsAllThatAShardWaitsForThatIsToLeave) {
  ASSERT_NO_FATAL_FAILURE(BeginMoves("kv-1"));
  std::string stays;  // the one move that may be under way is another shard's
  for (const auto& [shard, held] : world.servers.at("kv-1").held) {
    if (world.Holders(shard).size() == 1) stays = shard;
  }
  ASSERT_NE(stays, "");
  Pin(stays);
  EXPECT_THAT(world.WaitsOf(stays), ElementsAre(EndsWith(", by jo: repair")));
}

TEST(PinnedPrimariesTest, TheBalanceOfPrimariesTakesOthers) {
  const v1::AppSpec spec = Both(4, 2);
  World world(spec);
  world.Start();
  world.Join("kv-0");
  world.Advance(Seconds(5));
  world.ordered.pins = {PinOf("s-0"), PinOf("s-1")};
  world.Apply(spec);
  world.Join("kv-1");
  world.Advance(Seconds(120));
  const auto primary_on_0 = [&world](const std::string& shard) {
    const std::vector<std::string> roles = world.Roles(shard);
    return std::count(roles.begin(), roles.end(), "kv-0*");
  };
  EXPECT_EQ(primary_on_0("s-0") + primary_on_0("s-1"), 2);
  EXPECT_EQ(primary_on_0("s-2") + primary_on_0("s-3"), 0);
}

class PinnedRolesTest : public RolesTest {
 protected:
  void Pin() {
    world.ordered.pins = {PinOf("s-0")};
    world.Apply(spec);
  }
};

TEST_F(PinnedRolesTest, ItsPrimaryStaysForADrain) {
  Pin();
  Drain("kv-0");
  world.Advance(Seconds(120));
  EXPECT_EQ(Primary(), "kv-0");
  world.ordered.pins.clear();
  world.Apply(spec);
  world.Advance(Seconds(60));
  EXPECT_NE(Primary(), "kv-0");
}

TEST_F(PinnedRolesTest, ADrainOfPrimariesGoesOnOnceItIsUnpinned) {
  Pin();
  Drain("kv-0", /*primaries_only=*/true);
  world.Advance(Seconds(60));
  ASSERT_EQ(Primary(), "kv-0");
  world.ordered.pins.clear();
  world.Apply(spec);
  world.Advance(Milliseconds(100));
  EXPECT_NE(Primary(), "kv-0") << "at once, not when something else looks at the shard";
}

TEST_F(PinnedRolesTest, ALostPrimaryIsReplaced) {
  Pin();
  world.Die("kv-0");
  world.Advance(Seconds(60));
  EXPECT_NE(Primary(), "kv-0");
  EXPECT_NE(Primary(), "");
}

}  // namespace
}  // namespace shardmanager::orchestrator
