// Fewer servers in use: the cost changes only with the last object that leaves a server, so an
// annealing has to be told where it goes downhill.
#include <gtest/gtest.h>

#include <optional>

#include "allocator/solver/anneal/change_meter.h"
#include "allocator/solver/specs/all.h"
#include "base/random.h"
#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

constexpr double kForbidden = ChangeMeter::kForbidden;

// Forty servers of 100, each with two or three objects of 10 to 40, as they came.
Problem Scattered(uint64_t seed) {
  constexpr int kServers = 40;
  Random random(seed);
  SmallFleet fleet;
  for (int i = 0; i < kServers; ++i) fleet.Server(100);
  for (int i = 0; i < kServers * 12 / 5; ++i) {
    fleet.Objects({{{static_cast<Load>(10 + random.Below(31))}, i % kServers}});
  }
  return fleet.Make();
}

// No placement has fewer.
double LeastServers(const Problem& problem) {
  Amount sum = 0;
  for (const Load load : problem.load) sum += load;
  return static_cast<double>((sum + 99) / 100);
}

double AnnealedServers(Model& model, uint64_t seed) {
  Search search(model, {.seed = seed});
  search.Descend();
  search.Anneal({.steps = 500'000});
  EXPECT_LE(search.BestScore()[kConstraintLevel], kTolerance);
  return search.BestScore()[GoalLevel(1)];
}

TEST(PackingTest, AnAnnealingPacksToWithinAServerOfTheLeastThatThereCanBe) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Problem problem = Scattered(seed);
    Model model(problem);
    ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
    ASSERT_TRUE(model.AddGoal(InUseSpec{}, {.priority = 1}).ok());
    EXPECT_LE(AnnealedServers(model, seed), LeastServers(problem) + 1) << "seed " << seed;
  }
}

// Servers of many sizes and costs.
TEST(PackingTest, DearServersAreEmptied) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Random random(seed);
    SmallFleet fleet({"cpu", "memory"});
    InUseSpec spec;
    for (int i = 0; i < 100; ++i) {
      fleet.Server(80 + static_cast<Amount>(random.Below(40)));
      spec.cost.push_back(1 + static_cast<double>(random.Below(9)));
    }
    for (int i = 0; i < 200; ++i) {
      const auto load = [&] { return static_cast<Load>(10 + random.Below(31)); };
      fleet.Objects({{{load(), load()}, i % 100}});
    }
    const Problem problem = fleet.Make();
    Model model(problem);
    ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
    ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "memory"}).ok());
    ASSERT_TRUE(model.AddGoal(spec, {.priority = 1}).ok());
    Search descent(model, {.seed = seed});
    descent.Descend();
    EXPECT_LE(AnnealedServers(model, seed), 0.9 * descent.BestScore()[GoalLevel(1)])
        << "seed " << seed;
  }
}

// The many moves that it takes weigh more than the servers that they save, to the annealing, but
// not to the score.
TEST(PackingTest, WhatIsBetterCountsHoweverManyMovesItTakes) {
  Random random(1);
  SmallFleet fleet({"cpu", "memory"});
  for (int i = 0; i < 600; ++i) fleet.Server(100);
  for (int i = 0; i < 1'800; ++i) {
    const auto load = [&] { return static_cast<Load>(5 + random.Below(26)); };
    fleet.Objects({{{load(), load()}, i % 600}});
  }
  const Problem problem = fleet.Make();
  Model model(problem);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "memory"}).ok());
  ASSERT_TRUE(model.AddGoal(InUseSpec{}, {.priority = 1}).ok());
  Search descent(model, {});
  descent.Descend();
  EXPECT_LT(AnnealedServers(model, 1), descent.BestScore()[GoalLevel(1)]);
}

// That next to nothing is to be paid for the second goal at first must not make it dear.
TEST(PackingTest, AGoalOfLowerPriorityThatIsNearlyMetDoesNotHinderIt) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Problem problem = Scattered(seed);
    Model model(problem);
    ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
    ASSERT_TRUE(model.AddGoal(InUseSpec{}, {.priority = 1}).ok());
    const UtilizationSpec below{.metric = "cpu", .threshold = 0.9};
    ASSERT_TRUE(model.AddGoal(below, {.priority = 2}).ok());
    EXPECT_LE(AnnealedServers(model, seed), LeastServers(problem) + 1) << "seed " << seed;
  }
}

class SlopeTest : public testing::Test {
 protected:
  // Of 10 each: 6, 2 and 3.
  SlopeTest()
      : problem_(SmallFleet()
                     .Server(10)
                     .Server(10)
                     .Server(10)
                     .Objects({{{2}, 0}, {{4}, 0}, {{1}, 1}, {{1}, 1}, {{3}, 2}})
                     .Make()),
        model_(problem_) {
    EXPECT_TRUE(model_.AddGoal(InUseSpec{}, {.priority = 1}).ok());
    state_.emplace(model_);
    LevelWeights weights{};
    weights[GoalLevel(1)] = 1;
    meter_.emplace(*state_, weights, /*scale=*/1);
  }
  void Follow(double part) {
    LevelWeights parts{};
    parts[GoalLevel(1)] = part;
    meter_->FollowSlopes(parts);
  }
  double OfMove(uint32_t o, uint32_t to) const {
    return meter_->OfMove(ObjectId(o), ContainerId(to), kForbidden);
  }

  const Problem problem_;
  Model model_;
  std::optional<State> state_;
  std::optional<ChangeMeter> meter_;
};

TEST_F(SlopeTest, WhatGoesToAFullerServerSavesSomethingWhileSlopesCount) {
  EXPECT_EQ(OfMove(2, 0), 0);
  EXPECT_EQ(meter_->OfSwap(ObjectId(0), ObjectId(4), kForbidden), 0);
  Follow(1);
  EXPECT_LT(OfMove(2, 0), 0);                                          // from 2 of 10 to 6 of 10
  EXPECT_GT(OfMove(0, 1), 0);                                          // back from there
  EXPECT_LT(meter_->OfSwap(ObjectId(0), ObjectId(4), kForbidden), 0);  // 7 and 2
  const double one = OfMove(2, 0);
  Follow(2);
  EXPECT_DOUBLE_EQ(OfMove(2, 0), 2 * one);
  Follow(0);
  EXPECT_EQ(OfMove(2, 0), 0);
}

TEST_F(SlopeTest, ThereAndBackIsLevel) {
  Follow(1);
  const double there = OfMove(0, 2);
  EXPECT_EQ(meter_->Move(ObjectId(0), ContainerId(2)), 0) << "slopes are no part of the goals";
  EXPECT_NEAR(OfMove(0, 0), -there, 1e-12);
}

}  // namespace
}  // namespace shardmanager::solver
