// Moves and trades that each mend a container.
#include "allocator/solver/mending.h"

#include <gtest/gtest.h>

#include "allocator/solver/specs/all.h"
#include "base/random.h"
#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

Model WithCapacity(const Problem& problem) {
  Model model(problem);
  EXPECT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  return model;
}

std::vector<uint32_t> Places(const State& state) {
  std::vector<uint32_t> places;
  for (uint32_t i = 0; i < state.problem().objects; ++i) {
    const ContainerId at = state.where(ObjectId(i));
    places.push_back(at.valid() ? at.index() : UINT32_MAX);
  }
  return places;
}

// Both trades and, last, a move would mend the first server.
TEST(MendingTest, OneMoveIsBetterThanATrade) {
  const Problem problem =
      SmallFleet().Server(10).Server(10).Objects({{{6}, 0}, {{5}, 0}, {{4}, 1}, {{1}, 1}}).Make();
  const Model model = WithCapacity(problem);
  State state(model);
  MendLoads(state, Patience());
  EXPECT_EQ(state.Total()[kConstraintLevel], 0);
  EXPECT_EQ(state.moved(), 1u);
}

// 11 and 9 of 10: nothing fits anywhere but one object in the place of another.
TEST(MendingTest, ATradeMendsWhatHasNoRoomForAMove) {
  const Problem problem =
      SmallFleet().Server(10).Server(10).Objects({{{6}, 0}, {{5}, 0}, {{4}, 1}, {{5}, 1}}).Make();
  const Model model = WithCapacity(problem);
  State state(model);
  MendLoads(state, Patience());
  EXPECT_EQ(state.Total()[kConstraintLevel], 0);
  EXPECT_EQ(state.moved(), 2u);
}

// The first server is above its limit by 2; what mends it breaks another one, by 1.
TEST(MendingTest, WhatATradeBreaksHasItsTurn) {
  const Problem problem = SmallFleet()
                              .Server(10)
                              .Server(10)
                              .Server(10)
                              .Objects({{{7}, 0}, {{5}, 0}, {{5}, 1}, {{4}, 1}, {{6}, 2}, {{3}, 2}})
                              .Make();
  const Model model = WithCapacity(problem);
  State state(model);
  MendLoads(state, Patience());
  EXPECT_EQ(state.Total()[kConstraintLevel], 0) << testing::PrintToString(Places(state));
}

TEST(MendingTest, WhatIsPinnedStays) {
  const Problem problem = SmallFleet()
                              .Server(10)
                              .Server(10)
                              .Objects({{{1}, 0}})
                              .Pinned()
                              .Objects({{{6}, 0}, {{4}, 0}, {{5}, 1}})
                              .Pinned()
                              .Objects({{{4}, 1}})
                              .Make();
  const Model model = WithCapacity(problem);
  State state(model);
  MendLoads(state, Patience());
  EXPECT_EQ(Places(state), (std::vector<uint32_t>{0, 0, 0, 1, 1}));
}

// What stands where nothing may be costs less, to the score, than a server so far above its limit.
TEST(MendingTest, WhatIsClosedTakesNothing) {
  const Problem problem =
      SmallFleet().Server(10).Server(100).Closed().Objects({{{6}, 0}, {{60}, 0}}).Make();
  const Model model = WithCapacity(problem);
  State state(model);
  MendLoads(state, Patience());
  EXPECT_EQ(state.moved(), 0u);
}

// To the score, a move too many would cost less than a server that is so far above its limit.
TEST(MendingTest, PassesNoLimitOfMoves) {
  SmallFleet fleet;
  fleet.Server(1).Server(1).Server(1).Server(100);
  fleet.Objects({{{10}, 0}, {{10}, 1}, {{10}, 2}});
  const Problem problem = fleet.Make();
  Model model = WithCapacity(problem);
  ASSERT_TRUE(model.AddConstraint(MoveLimitSpec{.total = 2, .per_container = 9}).ok());
  State state(model);
  MendLoads(state, Patience());
  EXPECT_EQ(state.moved(), 2u);
}

TEST(MendingTest, EndsWithThePatience) {
  SmallFleet fleet;
  for (int server = 0; server < 50; ++server) {
    fleet.Server(10);
    for (int i = 0; i < 11; ++i) fleet.Objects({{{1}, server}});
  }
  const Problem problem = fleet.Make();
  const Model model = WithCapacity(problem);
  State state(model);
  MendLoads(state, Patience(20'000));
  EXPECT_EQ(state.moved(), 0u);
  EXPECT_LT(state.steps(), 21'000u);
}

// So many servers with a little room each, and some that are above their limits in one of two
// metrics: a descent spends its moves on steps that each help a little.
Problem TightFleet(uint64_t seed, uint32_t servers) {
  constexpr uint32_t kEach = 10;
  Random random(seed);
  std::vector<Item> items;
  std::vector<std::vector<Amount>> capacity(servers, {0, 0});
  for (uint32_t i = 0; i < servers * kEach; ++i) {
    const uint32_t server = i % servers;
    items.push_back({{}, static_cast<int>(server)});
    for (size_t m = 0; m < 2; ++m) {
      items.back().load.push_back(static_cast<Load>(1'000 + random.Below(9'000)));
      capacity[server][m] += items.back().load[m] + items.back().load[m] / 33;
    }
  }
  for (int pair = 0; pair < 6; ++pair) {
    std::swap(items[random.Below(items.size())].start, items[random.Below(items.size())].start);
  }
  SmallFleet fleet({"cpu", "memory"});
  for (const auto& of_server : capacity) fleet.ServerOf(of_server);
  return fleet.Objects(items).Make();
}

TEST(MendingTest, MendsLargeFleetsWithinALimitOfMoves) {
  int by_descent = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Problem problem = TightFleet(seed, 100);
    Model model = WithCapacity(problem);
    ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "memory"}).ok());
    ASSERT_TRUE(model.AddConstraint(MoveLimitSpec{.total = 20, .per_container = 5}).ok());
    Search search(model, {.seed = seed, .most_moves = 20});
    search.Descend();
    by_descent += search.BestScore()[kConstraintLevel] <= kTolerance;
    search.Mend(Patience(search.state().steps() + 500'000));
    EXPECT_LE(search.BestScore()[kConstraintLevel], kTolerance) << "seed " << seed;
    EXPECT_LE(search.Moves(), 20u);
  }
  EXPECT_LE(by_descent, 5) << "the problems are too easy";
}

// Mending begins at the start, and may find less than the descent did.
TEST(MendingTest, WhatStandsStaysIfMendingFindsNothingBetter) {
  const Problem problem = TightFleet(1, 100);
  Model model = WithCapacity(problem);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "memory"}).ok());
  Search search(model, {});
  search.Descend(Patience(100'000));
  const Score before = search.BestScore();
  const auto where = search.Where();
  search.Mend(Patience(0));
  EXPECT_FALSE(before.BetterThan(search.BestScore()));
  EXPECT_FALSE(search.BestScore().BetterThan(before));
  const auto after = search.Where();
  EXPECT_TRUE(std::equal(where.begin(), where.end(), after.begin()));
}

TEST(MendingTest, DoesNothingWhereNothingIsBrokenOrNothingCanBeRepaired) {
  for (const Load load : {5, 6, 25}) {  // room for all; broken, and enough in sum; too little
    const Problem problem =
        SmallFleet().Server(11).Server(11).Objects({{{load}, 0}, {{load}, 0}}).Make();
    const Model model = WithCapacity(problem);
    Search search(model, {});
    const uint64_t steps = search.state().steps();
    search.Mend(Patience());
    EXPECT_EQ(search.state().steps() > steps, load == 6) << load;
  }
}

}  // namespace
}  // namespace shardmanager::solver
