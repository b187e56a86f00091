// The number of replicas follows the load of a shard.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/orchestrator/core/scaling_fixture.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;

TEST_F(ScalingTest, AsManyReplicasComeAsTheLoadNeeds) {
  Start(ScalingSpec(4));
  Carry("s-1", 190);
  world().Advance(Seconds(60));
  EXPECT_EQ(Replicas("s-0"), 1U);
  EXPECT_EQ(Replicas("s-1"), 4U);
  EXPECT_EQ(Status(1).state(), "serving");
  // (What is known of a load follows reports half-way.)
  EXPECT_THAT(Details(NoteKind::kShardScaled),
              ElementsAre("from 1 to 2 replicas: each carries 95 cpu of 50",
                          HasSubstr("from 2 to 3 replicas"), HasSubstr("from 3 to 4 replicas")));
  world().Advance(Seconds(1'000));
  EXPECT_EQ(Replicas("s-1"), 4U) << "three would carry 63 each";
  EXPECT_THAT(Status(1).scaling().message(), HasSubstr("each carries 47.5 cpu of 50: enough"));
}

TEST_F(ScalingTest, ALoadOfNothingIsKnown) {
  Start(ScalingSpec(1));
  EXPECT_THAT(Says(), HasSubstr("each carries 0 cpu of 50"));
}

TEST_F(ScalingTest, WhatIsKnownOfOneMetricSaysNothingOfAnother) {
  StartWithFour(ScalingSpec(1));
  EXPECT_THAT(Says(), HasSubstr("each carries 47"));
  v1::AppSpec spec = ScalingSpec(1);
  spec.mutable_metrics(0)->set_name("memory");
  spec.mutable_scaling()->set_metric("memory");
  world().Apply(spec);
  EXPECT_THAT(Says(), HasSubstr("how much memory a replica carries is not known"));
  EXPECT_EQ(Replicas("s-0"), 4U);
}

TEST_F(ScalingTest, TheyGoOneByOneWhenFewerWereEnoughForLong) {
  Start(ScalingSpec(1));
  Carry("s-0", 200);
  world().Advance(Seconds(60));
  ASSERT_EQ(Replicas("s-0"), 4U);
  Carry("s-0", 20);
  world().Advance(Seconds(280));
  EXPECT_EQ(Replicas("s-0"), 4U);
  EXPECT_THAT(Says(), HasSubstr("one fewer is enough: one is dropped in "));
  world().Advance(Seconds(60));
  EXPECT_EQ(Replicas("s-0"), 3U);
  world().Advance(Seconds(330));
  EXPECT_EQ(Replicas("s-0"), 2U);
  world().Advance(Seconds(2'000));
  EXPECT_EQ(Replicas("s-0"), 1U) << "replication.replicas stay";
}

TEST_F(ScalingTest, AShortLullDropsNothing) {
  Start(ScalingSpec(1));
  for (int i = 0; i < 10; ++i) {
    Carry("s-0", 100);
    world().Advance(Seconds(120));
    EXPECT_EQ(Replicas("s-0"), 2U);
    Carry("s-0", 10);
    world().Advance(Seconds(120));
    EXPECT_EQ(Replicas("s-0"), 2U);
  }
}

TEST_F(ScalingTest, WhatIsWithinTheToleranceChangesNothing) {
  Start(ScalingSpec(1));
  Carry("s-0", 54);
  world().Advance(Seconds(600));
  EXPECT_EQ(Replicas("s-0"), 1U);
  Carry("s-0", 56);
  world().Advance(Seconds(60));
  EXPECT_EQ(Replicas("s-0"), 2U);
  Carry("s-0", 46);
  world().Advance(Seconds(1'000));
  EXPECT_EQ(Replicas("s-0"), 2U) << "one would carry more than 45";
  Carry("s-0", 44);
  world().Advance(Seconds(1'000));
  EXPECT_EQ(Replicas("s-0"), 1U);
}

TEST_F(ScalingTest, NoMoreThanTheSpecAllowsAndThatIsSaid) {
  Start(ScalingSpec(1));
  Carry("s-0", 1'000);
  world().Advance(Seconds(200));
  EXPECT_EQ(Replicas("s-0"), 6U);
  EXPECT_THAT(Says(), HasSubstr("as many as scaling.max_replicas allows"));
  EXPECT_THAT(Conditions(), Contains("1 shard carries more than scaling.target with "
                                     "scaling.max_replicas"));
  EXPECT_EQ(Status(0).state(), "serving");
}

TEST_F(ScalingTest, WithoutRoomItSaysSoAndNothingElseSuffers) {
  v1::AppSpec spec = ScalingSpec(4, v1::SECONDARY_ONLY, 2);
  spec.mutable_placement()->set_max_replicas_per_server(4);
  Start(spec, 3);
  Carry("s-0", 400);
  world().Advance(Seconds(120));
  EXPECT_EQ(Replicas("s-0"), 3U) << "there are three servers";
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(Status(i).state(), "serving");
  EXPECT_THAT(Says(), HasSubstr("too few, and there is no room for more; tried again in "));
  EXPECT_THAT(Conditions(), Contains(HasSubstr("there is no room for more replicas")));
  EXPECT_EQ(world().NoteCount(NoteKind::kScalingHasNoRoom), 1U);
  world().Join("kv-3");
  world().Advance(Seconds(400));
  EXPECT_EQ(Replicas("s-0"), 4U) << "it is tried again";
}

TEST_F(ScalingTest, ASuccessorKeepsThem) {
  Start(ScalingSpec(4));
  Carry("s-1", 190);
  world().Advance(Seconds(60));
  ASSERT_EQ(Replicas("s-1"), 4U);
  world().Restart();
  world().commands.clear();
  world().Advance(Seconds(60));
  EXPECT_EQ(Replicas("s-1"), 4U);
  EXPECT_THAT(world().commands, IsEmpty());
}

TEST_F(ScalingTest, AReplicaThatIsLostIsReplacedAndTheNumberStays) {
  StartWithFour(ScalingSpec(2));
  world().Die(world().Holders("s-0")[0]);
  world().Advance(Seconds(100));
  EXPECT_EQ(Replicas("s-0"), 4U);
}

TEST_F(ScalingTest, NoMoreChangeInAMinuteThanTheSpecAllows) {
  v1::AppSpec spec = ScalingSpec(40);
  spec.mutable_scaling()->set_max_changes_per_minute("10%");
  Start(spec);
  for (int i = 0; i < 40; ++i) Carry(absl::StrCat("s-", i), 100);
  size_t before = 40;
  for (int minute = 0; minute < 5; ++minute) {
    world().Advance(Seconds(60));
    size_t replicas = 0;
    for (int i = 0; i < 40; ++i) replicas += Replicas(absl::StrCat("s-", i));
    EXPECT_THAT(replicas - before, AllOf(Ge(2U), Le(8U))) << minute;
    before = replicas;
  }
}

TEST_F(ScalingTest, ARecommendationIsNotFollowed) {
  v1::AppSpec spec = ScalingSpec(1);
  spec.mutable_scaling()->set_mode(v1::ScalingPolicy::RECOMMEND);
  Start(spec);
  Carry("s-0", 190);
  world().Advance(Seconds(600));
  EXPECT_EQ(Replicas("s-0"), 1U);
  EXPECT_EQ(Says(), "each carries 190 cpu of 50: 4 replicas would be right");
  spec.mutable_scaling()->set_mode(v1::ScalingPolicy::SCALE);
  world().Apply(spec);
  world().Advance(Seconds(60));
  EXPECT_EQ(Replicas("s-0"), 4U);
}

TEST_F(ScalingTest, ToRecommendAgainTakesNothingAwayThatIsNeeded) {
  v1::AppSpec spec = ScalingSpec(1);
  StartWithFour(spec);
  spec.mutable_scaling()->set_mode(v1::ScalingPolicy::RECOMMEND);
  world().Apply(spec);
  world().Advance(Seconds(600));
  EXPECT_EQ(Replicas("s-0"), 4U);
  world().Restart();
  world().Advance(Seconds(600));
  EXPECT_EQ(Replicas("s-0"), 4U) << "a new leader keeps them, too";
  Carry("s-0", 20);
  world().Advance(Seconds(1'800));
  EXPECT_EQ(Replicas("s-0"), 1U) << "slowly";
}

TEST_F(ScalingTest, AnOutageOfAllServersTakesNoReplicaAway) {
  StartWithFour(ScalingSpec(1));
  for (int i = 0; i < 8; ++i) world().Die(absl::StrCat("kv-", i));
  world().Advance(Seconds(120));
  for (int i = 0; i < 8; ++i) world().Join(absl::StrCat("kv-", i));
  world().Advance(Seconds(60));
  EXPECT_EQ(Replicas("s-0"), 4U);
  EXPECT_THAT(Details(NoteKind::kScalingHasNoRoom), IsEmpty());
}

TEST_F(ScalingTest, ALongOutageOfAllServersTakesNoReplicaAway) {
  StartWithFour(ScalingSpec(1));
  for (int i = 0; i < 8; ++i) world().Die(absl::StrCat("kv-", i));
  world().Advance(Seconds(900));
  for (int i = 0; i < 8; ++i) world().Join(absl::StrCat("kv-", i));
  world().Advance(Seconds(60));
  EXPECT_EQ(Replicas("s-0"), 4U);
  EXPECT_THAT(Details(NoteKind::kScalingHasNoRoom), IsEmpty());
}

TEST_F(ScalingTest, WhileAnotherShardHasNoPlaceNoneIsAdded) {
  v1::AppSpec spec = ScalingSpec(7);
  spec.mutable_placement()->set_max_replicas_per_server(2);
  Start(spec, 3);  // six of the seven have a place
  size_t placed = 0;
  while (Replicas(absl::StrCat("s-", placed)) == 0) ++placed;
  Carry(absl::StrCat("s-", placed), 190);
  world().Advance(Seconds(120));
  EXPECT_EQ(world().NoteCount(NoteKind::kShardScaled), 0U);
  EXPECT_THAT(Status(placed).scaling().message(),
              HasSubstr("none is added while 1 shard of the app has no place for one of "
                        "replication.replicas"));
}

TEST_F(ScalingTest, ARestartWhereThereIsNoOtherRoomTakesNoReplicaAway) {
  StartWithFour(ScalingSpec(1), /*servers=*/4);
  world().Die("kv-0");
  world().Advance(Seconds(40));
  world().Join("kv-0");
  world().Advance(Seconds(40));
  EXPECT_EQ(Replicas("s-0"), 4U);
}

TEST_F(ScalingTest, AnotherSpecInTheMiddleOfAChangeAddsNoReplicaTooMany) {
  v1::AppSpec spec = ScalingSpec(1);
  spec.mutable_scaling()->set_mode(v1::ScalingPolicy::RECOMMEND);
  Start(spec);
  Carry("s-0", 190);
  world().Advance(Seconds(600));  // the load is well known
  spec.mutable_scaling()->set_mode(v1::ScalingPolicy::SCALE);
  world().Apply(spec);
  // From one to two, and from two to four: what comes begins with the load that the others had.
  while (world().NoteCount(NoteKind::kShardScaled) < 2) world().Advance(Seconds(1));
  spec.mutable_moves()->set_max_concurrent(33);
  world().Apply(spec);
  world().Advance(Seconds(200));
  EXPECT_EQ(Replicas("s-0"), 4U);
  EXPECT_EQ(world().NoteCount(NoteKind::kShardScaled), 2U);
}

TEST_F(ScalingTest, TheReplicaThatGoesIsNotTheOneThatItsRegionIsToHave) {
  v1::AppSpec spec = ScalingSpec(1, v1::SECONDARY_ONLY, 2);
  spec.mutable_placement()->set_preferred_region("r1");
  Start(spec);  // in r1
  world().Join("far", "r9");
  Carry("s-0", 500);
  world().Advance(Seconds(300));
  ASSERT_EQ(Replicas("s-0"), 6U);
  spec.mutable_placement()->set_preferred_region("r9");
  world().Apply(spec);
  world().Advance(Seconds(120));
  ASSERT_THAT(world().Holders("s-0"), Contains("far"));
  Carry("s-0", 20);
  while (Replicas("s-0") > 2) {
    world().Advance(Seconds(10));
    ASSERT_THAT(world().Holders("s-0"), Contains("far"));
    ASSERT_LT(world().now, TimePoint(Seconds(7'200)));
  }
}

TEST_F(ScalingTest, WithoutThePolicyTheNumberIsThatOfTheSpecAgain) {
  v1::AppSpec spec = ScalingSpec(2);
  StartWithFour(spec);
  spec.clear_scaling();
  world().Apply(spec);
  world().Advance(Seconds(60));
  EXPECT_EQ(Replicas("s-0"), 1U);
  EXPECT_FALSE(Status(0).has_scaling());
}

TEST_F(ScalingTest, ANewSpecKeepsThem) {
  v1::AppSpec spec = ScalingSpec(2);
  Start(spec);
  Carry("s-0", 190);
  world().Advance(Seconds(60));
  spec.mutable_key_space()->add_shards()->set_id("s-9");
  spec.mutable_scaling()->set_max_replicas(3);
  world().Apply(spec);
  world().Advance(Seconds(60));
  EXPECT_EQ(Replicas("s-0"), 3U);
  EXPECT_EQ(Replicas("s-9"), 1U);
}

TEST_F(ScalingTest, WhilePausedNothingChanges) {
  v1::AppSpec spec = ScalingSpec(1);
  Start(spec);
  world().ordered.pause.emplace();
  world().Apply(spec);
  Carry("s-0", 190);
  world().Advance(Seconds(600));
  EXPECT_EQ(Replicas("s-0"), 1U);
  EXPECT_THAT(Says(), HasSubstr("the app is paused, or the shard is held where it is"));
}

TEST_F(ScalingTest, ThePrimaryStaysWhereItIs) {
  Start(ScalingSpec(1, v1::PRIMARY_SECONDARY, 2));
  const std::string before = Primary();
  Carry("s-0", 190);
  world().Advance(Seconds(120));
  EXPECT_EQ(Replicas("s-0"), 4U);
  Carry("s-0", 0);
  world().Advance(Seconds(2'000));
  EXPECT_EQ(Replicas("s-0"), 2U);
  EXPECT_EQ(Primary(), before);
}

TEST_F(ScalingTest, WhatIsNotReportedChangesNothing) {
  StartWithFour(ScalingSpec(1));
  world().load = [](const std::string&, const std::string&) { return std::vector<MetricAmount>(); };
  world().Restart();
  world().Advance(Seconds(2'000));
  EXPECT_EQ(Replicas("s-0"), 4U);
  EXPECT_EQ(Says(), "how much cpu a replica carries is not known: the number of replicas stays");
}

}  // namespace
}  // namespace shardmanager::orchestrator
