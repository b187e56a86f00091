// Shards without a place: they are tried again when something changes that may help, and else ever
// more seldom.
#include "orchestrator/state/missing_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/spec/spec_validation.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using allocator::SkipReason;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr ShardIndex kA(1);
constexpr ShardIndex kB(2);

class MissingShardsTest : public testing::Test {
 protected:
  // Until `end` after the start, each try in vain. Returns the seconds at which there was one.
  std::vector<int64_t> TriesUntil(Duration end) {
    std::vector<int64_t> tries;
    while (now_ + MissingShards::kTick <= TimePoint() + end) {
      now_ += MissingShards::kTick;
      if (room_all_the_time_) missing_.MayHelp(Help::kRoom);
      missing_.Tick(now_);
      const std::vector<ShardIndex> next = missing_.TakeNext();
      if (!next.empty()) tries.push_back((now_ - TimePoint()) / Seconds(1));
      for (ShardIndex shard : next) missing_.Park(shard, *missing_.Find(shard), now_);
    }
    return tries;
  }

  MissingShards missing_;
  TimePoint now_{};
  bool room_all_the_time_ = false;
};

TEST_F(MissingShardsTest, TriesEverMoreSeldomWhileNothingChanges) {
  missing_.Park(kA, SkipReason::kNoFaultDomain, now_);
  EXPECT_THAT(TriesUntil(Seconds(240)), ElementsAre(5, 10, 20, 40, 80, 140, 200));
}

TEST_F(MissingShardsTest, TriesAtTheNextTickWhatMayBeHelped) {
  missing_.Park(kA, SkipReason::kNoFaultDomain, now_);
  missing_.Park(kB, SkipReason::kNoCapacity, now_);
  TriesUntil(Seconds(85));
  missing_.MayHelp(Help::kRoom);
  missing_.Tick(now_);
  EXPECT_THAT(missing_.TakeNext(), ElementsAre(kB)) << "the other one lacks more than room";
  missing_.MayHelp(Help::kAny);
  missing_.Tick(now_);
  EXPECT_THAT(missing_.TakeNext(), ElementsAre(kA));
}

// Loads that flicker fall all the time.
TEST_F(MissingShardsTest, RoomThatHelpsNobodyIsTriedEverMoreSeldom) {
  missing_.Park(kA, SkipReason::kNoCapacity, now_);
  room_all_the_time_ = true;
  EXPECT_THAT(TriesUntil(Seconds(600)), SizeIs(testing::Le(20)));
}

TEST_F(MissingShardsTest, APlaceThatIsFoundShowsThatThereIsRoom) {
  missing_.Park(kA, SkipReason::kNoCapacity, now_);
  missing_.Park(kB, SkipReason::kNoCapacity, now_);
  room_all_the_time_ = true;
  TriesUntil(Seconds(610));
  missing_.Forget(kA);
  missing_.MayHelp(Help::kRoom);
  missing_.Tick(now_ + MissingShards::kTick);
  EXPECT_THAT(missing_.TakeNext(), ElementsAre(kB));
}

TEST_F(MissingShardsTest, RoomThatComesInAPauseIsNotForgotten) {
  missing_.Park(kA, SkipReason::kNoCapacity, now_);
  TriesUntil(Seconds(150));  // all are tried again at 200 s
  missing_.MayHelp(Help::kRoom);
  EXPECT_THAT(TriesUntil(Seconds(160)), ElementsAre(155));
  missing_.MayHelp(Help::kRoom);
  EXPECT_THAT(TriesUntil(Seconds(165)), ElementsAre(165));
  missing_.MayHelp(Help::kRoom);
  EXPECT_THAT(TriesUntil(Seconds(190)), ElementsAre(175)) << "it waits twice as long";
}

TEST_F(MissingShardsTest, AChangeThatMayHelpBringsBackShortPauses) {
  missing_.Park(kA, SkipReason::kNoFaultDomain, now_);
  TriesUntil(Seconds(145));
  missing_.MayHelp(Help::kAny);
  EXPECT_THAT(TriesUntil(Seconds(200)), ElementsAre(150, 155, 160, 170, 190));
}

TEST_F(MissingShardsTest, AShardThatIsNewAmongThemIsTriedSoon) {
  missing_.Park(kA, SkipReason::kNoFaultDomain, now_);
  TriesUntil(Seconds(145));
  missing_.Park(kB, SkipReason::kNoFaultDomain, now_);
  missing_.Tick(now_ + MissingShards::kTick);
  EXPECT_THAT(missing_.TakeNext(), UnorderedElementsAre(kA, kB));
}

TEST_F(MissingShardsTest, SaysWhatIsNews) {
  EXPECT_TRUE(missing_.Park(kA, SkipReason::kNoServers, now_));
  EXPECT_FALSE(missing_.Park(kA, SkipReason::kNoServers, now_));
  EXPECT_TRUE(missing_.Park(kA, SkipReason::kNoCapacity, now_));
  EXPECT_EQ(missing_.count(SkipReason::kNoServers), 0u);
  EXPECT_EQ(missing_.count(SkipReason::kNoCapacity), 1u);
  missing_.Forget(kA);
  EXPECT_EQ(missing_.count(SkipReason::kNoCapacity), 0u);
  EXPECT_EQ(missing_.Find(kA), nullptr);
  missing_.RetryAll();
  EXPECT_THAT(missing_.TakeNext(), IsEmpty());
}

TEST_F(MissingShardsTest, OneThatIsReleasedIsNotTriedTwice) {
  missing_.Park(kA, SkipReason::kNoFaultDomain, now_);
  missing_.Release(kA);
  EXPECT_FALSE(missing_.Waits(kA));
  missing_.Add(kA);
  missing_.RetryAll();
  EXPECT_THAT(missing_.TakeNext(), ElementsAre(kA));
}

TEST_F(MissingShardsTest, FirstPlacementsWaitForTheFleet) {
  missing_.AwaitFleet(kA);
  EXPECT_THAT(missing_.TakeNext(), IsEmpty());
  missing_.FleetGathered();
  EXPECT_THAT(missing_.TakeNext(), ElementsAre(kA));
}

// Each of 10 shards is to have a replica in each of two regions, and one region is gone.
class RegionLostTest : public testing::Test {
 protected:
  static v1::AppSpec Spec() {
    v1::AppSpec spec = TestSpec(10, v1::SECONDARY_ONLY, 2);
    spec.mutable_placement()->set_spread(v1::REGION);
    return spec;
  }
  RegionLostTest() : world_(Spec()) {
    for (const char* name : {"east-0", "east-1", "west-0", "west-1"}) {
      world_.servers[name] = {.incarnation = Incarnation(1),
                              .live = true,
                              .at = {std::string(name).substr(0, 4), "", ""}};
    }
    world_.Start();
    world_.Gather();
  }
  void LoseTheWest() {
    for (const char* name : {"west-0", "west-1"}) world_.Depart(name);
    EXPECT_EQ(world_.Served(), 0u);
  }
  // Plans that place what is missing, in so many seconds; they find what they find.
  int EmergenciesIn(int seconds) {
    int plans = 0;
    world_.hold_plans = true;
    for (int i = 0; i < seconds; ++i) {
      world_.Advance(Seconds(1));
      for (; !world_.plans.empty(); world_.FinishPlan()) {
        plans += world_.plans.front().options.mode == allocator::Mode::kEmergency;
      }
    }
    world_.hold_plans = false;
    return plans;
  }
  World world_;
};

TEST_F(RegionLostTest, WhatHasNoPlaceIsPlannedEverMoreSeldom) {
  ASSERT_EQ(world_.Served(), 10u);
  LoseTheWest();
  EXPECT_LE(EmergenciesIn(600), 16);
}

TEST_F(RegionLostTest, AServerThatJoinsIsUsedWhenItsFleetHasGathered) {
  LoseTheWest();
  EmergenciesIn(600);
  world_.Join("west-2", "west");
  world_.Gather();
  EXPECT_EQ(world_.Served(), 10u);
}

TEST_F(RegionLostTest, AServerThatIsDrainedNoMoreIsUsedAtOnce) {
  v1::Drain drain;
  drain.mutable_scope()->set_server("west-0");
  world_.ordered.drains = {drain};
  world_.Apply(Spec());
  world_.Advance(Seconds(60));
  world_.Depart("west-1");
  EmergenciesIn(600);
  ASSERT_LT(world_.Served(), 10u);
  world_.ordered.drains.clear();
  world_.Apply(Spec());
  EXPECT_EQ(world_.Served(), 10u);
}

// A shard that waits for a place and loses its other replica, too, does not wait for the next look.
TEST_F(RegionLostTest, WhatLosesOneMoreReplicaIsPlannedAtOnceAndAlone) {
  LoseTheWest();
  EmergenciesIn(600);
  world_.hold_plans = true;
  const size_t lost = world_.servers["east-0"].record.size();
  ASSERT_GT(lost, 0u);
  ASSERT_LT(lost, 10u);
  world_.Depart("east-0");
  ASSERT_THAT(world_.plans, SizeIs(1));
  EXPECT_THAT(world_.plans.front().snapshot.shards, SizeIs(lost));
  world_.hold_plans = false;
  world_.FinishPlan();
  EXPECT_EQ(world_.Counts()["east-1"], 10u);
}

// Half of the fleet is lost, and the other half is full; its loads flicker.
TEST(FullFleetTest, LoadsThatFlickerDoNotMakePlans) {
  v1::AppSpec spec = TestSpec(20);
  spec.mutable_moves()->set_collect_interval_ms(1'000);
  v1::Metric* cpu = spec.add_metrics();
  cpu->set_name("cpu");
  cpu->set_capacity(1'000);
  World world(WithDefaults(spec));
  int reports = 0;
  world.load = [&](const std::string&, const std::string&) {
    return std::vector<MetricAmount>{{"cpu", 1.0 + ++reports % 7}};
  };
  for (const char* name : {"kv-0", "kv-1", "kv-2", "kv-3"}) {
    world.servers[name] = {.incarnation = Incarnation(1), .live = true, .capacity = 5};
  }
  world.Start();
  world.Gather();
  ASSERT_EQ(world.Served(), 20u);
  for (const char* name : {"kv-2", "kv-3"}) world.Depart(name);
  int plans = 0;
  world.hold_plans = true;
  for (int i = 0; i < 600; ++i) {
    world.Advance(Seconds(1));
    for (; !world.plans.empty(); world.FinishPlan()) {
      plans += world.plans.front().options.mode == allocator::Mode::kEmergency;
    }
  }
  EXPECT_LE(plans, 25);
  EXPECT_EQ(world.Served(), 10u);
}

}  // namespace
}  // namespace shardmanager::orchestrator
