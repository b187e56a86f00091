// A paused app is left as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "orchestrator/describe/status.h"
#include "tests/orchestrator/core/left_alone_fixture.h"
#include "tests/orchestrator/roles/roles_fixture.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

v1::Pause PauseBy(const std::string& who, bool failover = false) {
  v1::Pause pause;
  pause.set_who(who);
  pause.set_reason("network work");
  pause.set_failover(failover);
  return pause;
}

v1::AppSpec SlowFailovers() {
  v1::AppSpec spec = TestSpec(12);
  spec.mutable_failover()->set_delay_ms(5'000);
  return spec;
}

class PauseTest : public LeftAloneTest {
 protected:
  explicit PauseTest(const v1::AppSpec& with = SlowFailovers()) : LeftAloneTest(with) {}
  void Pause(bool failover = false) {
    world.ordered.pause = PauseBy("jo", failover);
    world.Apply(spec);
  }
  void Resume() {
    world.ordered.pause.reset();
    world.Apply(spec);
  }
};

TEST_F(PauseTest, NothingIsMovedUntilItIsResumed) {
  Pause();
  Drain("kv-1");
  world.Join("kv-3");
  world.Advance(Seconds(120));
  EXPECT_THAT(world.commands, IsEmpty());
  EXPECT_THAT(world.WaitsOf("s-0"), Contains(HasSubstr("by jo: network work")));
  Resume();
  world.Advance(Seconds(120));
  EXPECT_EQ(world.Counts().at("kv-1"), 0u);
  EXPECT_EQ(world.Served(), 12u);
  EXPECT_EQ(world.NoteCount(NoteKind::kPaused), 1u);
  EXPECT_EQ(world.NoteCount(NoteKind::kResumed), 1u);
}

TEST_F(PauseTest, F18_TheFirstPassOfTheNextLeaderMovesNothing) {
  world.hold_plans = true;
  Drain("kv-1");
  Pause();
  world.plans.clear();
  world.hold_plans = false;
  world.Restart();
  world.Advance(Seconds(120));
  EXPECT_EQ(world.Counts(), (std::map<std::string, size_t>{{"kv-0", 4}, {"kv-1", 4}, {"kv-2", 4}}));
}

TEST_F(PauseTest, F18_APlanFromBeforeThePauseMovesNothing) {
  world.hold_plans = true;
  Drain("kv-1");
  ASSERT_THAT(world.plans, Not(IsEmpty()));
  Pause();
  world.hold_plans = false;
  while (!world.plans.empty()) world.FinishPlan();
  world.Advance(Seconds(120));
  EXPECT_THAT(world.commands, IsEmpty());
  EXPECT_EQ(world.NoteCount(NoteKind::kMoveStarted), 0u);
}

class SlowMoveTest : public PauseTest {
 protected:
  SlowMoveTest() : PauseTest(OneMoveAtATime()) {}
};

TEST_F(SlowMoveTest, AMoveThatIsUnderWayIsFinished) {
  ASSERT_NO_FATAL_FAILURE(BeginMoves("kv-1"));
  Pause();
  FinishMoves();
  EXPECT_EQ(world.Served(), 12u) << "nothing is left half way";
  EXPECT_EQ(world.Counts().at("kv-1"), 3u) << "and no further move begins";
}

TEST_F(PauseTest, ALostServersShardsWaitAndSayWhy) {
  Pause();
  world.Die("kv-1");
  world.Advance(Seconds(300));
  EXPECT_EQ(world.NoteCount(NoteKind::kFailoverStarted), 0u);
  EXPECT_THAT(world.commands, Not(Contains(MatchesRegex("add .*"))));
  Resume();
  world.Advance(Seconds(60));
  EXPECT_EQ(world.NoteCount(NoteKind::kFailoverStarted), 1u);
  EXPECT_EQ(world.Counts().at("kv-0") + world.Counts().at("kv-2"), 12u);
}

TEST_F(PauseTest, WithFailoverOnlyWhatIsLostGoesElsewhere) {
  Pause(/*failover=*/true);
  Drain("kv-2");
  world.Die("kv-1");
  world.Advance(Seconds(120));
  EXPECT_EQ(world.Served(), 12u);
  EXPECT_EQ(world.Counts().at("kv-2"), 4u) << "the drain waits";
}

TEST_F(PauseTest, AServerThatWasLostBeforeIsFailedOverOnceFailoverIsAllowed) {
  world.Die("kv-1");
  Pause();
  world.Advance(Seconds(120));
  EXPECT_EQ(world.Counts().at("kv-0") + world.Counts().at("kv-2"), 8u);
  Pause(/*failover=*/true);
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Counts().at("kv-0") + world.Counts().at("kv-2"), 12u);
}

TEST_F(PauseTest, NewShardsWaitForTheirFirstPlace) {
  Pause();
  world.Apply(TestSpec(14));
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Served(), 12u);
  EXPECT_THAT(world.WaitsOf("s-13"), Contains(HasSubstr("placed or failed over")));
  world.ordered.pause.reset();
  world.Apply(TestSpec(14));
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Served(), 14u);
}

TEST_F(PauseTest, TheAppSaysSo) {
  Pause();
  const v1::AppStatus status = DescribeApp(world.partition().state(), world.now);
  EXPECT_EQ(status.pause().who(), "jo");
  EXPECT_THAT(status.conditions(), Contains(HasSubstr("the app is paused since ")));
}

class PausedRolesTest : public RolesTest {
 protected:
  void Pause(bool failover) {
    world.ordered.pause = PauseBy("jo", failover);
    world.Apply(spec);
  }
};

TEST_F(PausedRolesTest, NobodyIsPromotedUnlessFailoverIsAllowed) {
  Pause(/*failover=*/false);
  world.Die("kv-0");
  world.Advance(Seconds(120));
  EXPECT_EQ(world.NoteCount(NoteKind::kPrimaryElected), 0u);
  Pause(/*failover=*/true);
  world.Advance(Seconds(60));
  EXPECT_GT(world.NoteCount(NoteKind::kPrimaryElected), 0u);
}

TEST_F(PausedRolesTest, APrimaryIsNotMovedForADrain) {
  Pause(/*failover=*/true);
  Drain("kv-0");
  world.Advance(Seconds(120));
  EXPECT_EQ(Primary(), "kv-0");
  world.ordered.pause.reset();
  world.Apply(spec);
  world.Advance(Seconds(60));
  EXPECT_NE(Primary(), "kv-0");
}

class BalancePauseTest : public PauseTest {
 protected:
  void PauseBalance() {
    world.ordered.pause = PauseBy("jo");
    world.ordered.pause->set_only_balance(true);
    world.Apply(spec);
  }
};

TEST_F(BalancePauseTest, BalanceStopsUntilItIsResumed) {
  PauseBalance();
  world.Join("kv-3");
  world.Advance(Seconds(300));
  EXPECT_EQ(world.Counts()["kv-3"], 0u);
  EXPECT_THAT(world.WaitsOf("s-0"), Contains(HasSubstr("it is not moved for balance before")));
  Resume();
  world.Advance(Seconds(300));
  EXPECT_GE(world.Counts()["kv-3"], 2u);
}

TEST_F(BalancePauseTest, WhatHasToLeaveLeavesAndWhatIsLostIsFailedOver) {
  PauseBalance();
  Drain("kv-1");
  world.Advance(Seconds(120));
  EXPECT_EQ(world.Counts()["kv-1"], 0u);
  world.Die("kv-2");
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Served(), 12u);
}

TEST_F(BalancePauseTest, APlanFromBeforeMovesNothingForBalance) {
  world.hold_plans = true;
  world.Join("kv-3");
  world.Advance(Seconds(30));
  ASSERT_THAT(world.plans, Not(IsEmpty()));
  PauseBalance();
  world.hold_plans = false;
  while (!world.plans.empty()) world.FinishPlan();
  world.Advance(Seconds(120));
  EXPECT_EQ(world.Counts()["kv-3"], 0u);
}

}  // namespace
}  // namespace shardmanager::orchestrator
