// The state under random lifts and puts, with all kinds of rules together.
#include "allocator/solver/state.h"

#include <gtest/gtest.h>

#include "allocator/solver/specs/all.h"
#include "base/random.h"
#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

void ExpectSame(const Score& a, const Score& b) {
  for (int l = 0; l < kLevels; ++l) EXPECT_NEAR(a[l], b[l], 1e-6) << "level " << l;
}

// Every fifth server takes no more.
Problem WithClosedServers(Problem p) {
  for (uint32_t c = 0; c < p.containers; c += 5) p.closed[ContainerId(c)] = true;
  return p;
}

TEST(StateTest, ChargesForAMoveExactlyWhatItChangesUnderAllRulesAtOnce) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Problem p = WithClosedServers(RandomFleet(seed, 12, 60, 0.8));
    Model model(p);
    AddEverything(model);
    ASSERT_TRUE(model.AddConstraint(MoveLimitSpec{.total = 9, .per_container = 3}).ok());
    ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu", .transient = true}).ok());
    State state(model);
    Random random(seed);
    Score total = state.Total();
    for (int i = 0; i < 400; ++i) {
      const ObjectId o(random.Below(p.objects));
      const ContainerId to(random.Below(p.containers));
      const ContainerId from = state.Lift(o);
      const Score change = state.Arrival(o, to) - state.Arrival(o, from);
      state.Put(o, to, from);
      const Score after = state.Total();
      ExpectSame(after - total, change);
      if (HasFailure()) FAIL() << "seed " << seed << ", change " << i;
      total = after;
    }
  }
}

TEST(StateTest, ListsWhatStandsOnAContainer) {
  const Problem p = RandomFleet(3, 6, 30, 0.5);
  const Model model(p);
  State state(model);
  Random random(3);
  for (int i = 0; i < 500; ++i) {
    state.Move(ObjectId(random.Below(p.objects)), ContainerId(random.Below(p.containers)));
  }
  uint32_t listed = 0;
  for (uint32_t c = 0; c < p.containers; ++c) {
    for (ObjectId o : state.On(ContainerId(c))) {
      EXPECT_EQ(state.where(o), ContainerId(c));
      ++listed;
    }
  }
  uint32_t placed = 0;
  uint32_t moved = 0;
  for (uint32_t i = 0; i < p.objects; ++i) {
    placed += state.where(ObjectId(i)).valid();
    moved += state.where(ObjectId(i)) != p.start[ObjectId(i)];
  }
  EXPECT_EQ(listed, placed);
  EXPECT_EQ(state.moved(), moved);
}

TEST(StateTest, KnowsWhichGroupsCostSomething) {
  const Problem p = RandomFleet(5, 12, 60, 0.8);
  Model model(p);
  AddEverything(model);
  State state(model);
  Random random(5);
  for (int i = 0; i < 400; ++i) {
    const ContainerId to = random.Below(9) == 0 ? ContainerId() : ContainerId(random.Below(12));
    state.Move(ObjectId(random.Below(p.objects)), to);
    const GroupId g(random.Below(p.groups()));
    EXPECT_EQ(state.group_board().Pays(g), Score{}.BetterThan(state.GroupCost(g))) << i;
  }
}

TEST(StateTest, FitsOnlyWhereNoLoadRuleBreaks) {
  const Problem p = RandomFleet(4, 8, 40, 0.9);
  Model model(p);
  AddEverything(model);
  State state(model);
  for (uint32_t i = 0; i < p.objects; ++i) {
    const ObjectId o(i);
    const ContainerId from = state.Lift(o);
    for (uint32_t c = 0; c < p.containers; ++c) {
      if (!state.Fits(o, ContainerId(c))) continue;
      // Whether it is asked to look or told that it fits: the same.
      ExpectSame(state.Arrival(o, ContainerId(c)), state.Arrival(o, ContainerId(c), true));
    }
    state.Put(o, from, from);
  }
}

TEST(StateTest, WhatStartsOnAClosedServerMayStayThere) {
  const Problem p =
      SmallFleet().Server(10).Closed().Server(10).Objects({{{1}, 0}, {{1}, 1}}).Make();
  const Model model(p);
  State state(model);
  EXPECT_EQ(state.Total()[kConstraintLevel], 0);
  state.Move(ObjectId(1), ContainerId(0));
  EXPECT_EQ(state.Total()[kConstraintLevel], 1);
}

}  // namespace
}  // namespace shardmanager::solver
