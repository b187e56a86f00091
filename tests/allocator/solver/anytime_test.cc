// Budgets: that they are kept, and that one of steps makes a run repeat.
#include <gtest/gtest.h>

#include <algorithm>

#include "allocator/solver/anytime/improve.h"
#include "allocator/solver/anytime/least_moves.h"
#include "allocator/solver/specs/all.h"
#include "base/random.h"
#include "runtime/fork_join.h"
#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

constexpr double kExact = 0.02;  // of a budget

// A search in a problem in which something is always left to improve.
class ImproveTest : public testing::Test {
 protected:
  ImproveTest() : problem_(RandomFleet(7, 40, 400, 0.95)), model_(problem_) {
    AddEverything(model_);
  }

  struct Result {
    Table<ObjectId, ContainerId> where;
    std::vector<Phase> phases;
    uint64_t steps = 0;
  };
  // A clock that shows `step_s` more after each step.
  Result Run(const Budget& budget, double step_s, uint64_t seed = 1) const {
    Portfolio search(model_, {.seed = seed, .searches = searches_, .do_all = do_all_});
    const auto clocks = [&] {
      const double now = step_s * static_cast<double>(search.steps());
      return Spent{.seconds = now, .cpu_seconds = now / 2};
    };
    Result result;
    result.phases = Improve(search, {.budget = budget, .clocks = clocks}).phases;
    result.where = search.Where();
    result.steps = search.steps();
    return result;
  }

  const Problem problem_;
  Model model_;
  uint32_t searches_ = 1;
  decltype(PortfolioOptions::do_all) do_all_;
};

TEST_F(ImproveTest, RepeatsExactlyForASeedAndABudgetOfSteps) {
  const Result quick = Run({.steps = 300'000}, 1e-9);
  const Result slow = Run({.steps = 300'000}, 1e-3);
  const Result other = Run({.steps = 300'000}, 1e-9, /*seed=*/2);
  EXPECT_EQ(quick.steps, slow.steps);
  EXPECT_TRUE(std::equal(quick.where.begin(), quick.where.end(), slow.where.begin()));
  EXPECT_FALSE(std::equal(quick.where.begin(), quick.where.end(), other.where.begin()));
}

TEST_F(ImproveTest, KeepsABudgetOfSteps) {
  for (uint64_t steps : {10'000, 100'000, 300'000}) {
    EXPECT_NEAR(static_cast<double>(Run({.steps = steps}, 0).steps), static_cast<double>(steps),
                kExact * static_cast<double>(steps));
  }
}

TEST_F(ImproveTest, KeepsBudgetsOfTimeHoweverLongAStepTakes) {
  for (double step_s : {5e-6, 2e-5}) {
    const Result wall = Run({.seconds = 2}, step_s);
    EXPECT_NEAR(step_s * static_cast<double>(wall.steps), 2, 2 * kExact);
    const Result cpu = Run({.cpu_seconds = 1}, step_s);
    EXPECT_NEAR(step_s * static_cast<double>(cpu.steps), 2, 2 * kExact);
  }
}

TEST_F(ImproveTest, EndsWithTheBudgetThatIsSpentFirst) {
  EXPECT_NEAR(static_cast<double>(Run({.steps = 1'000'000, .seconds = 1}, 1e-5).steps), 1e5,
              1e5 * kExact);
  EXPECT_NEAR(static_cast<double>(Run({.steps = 50'000, .seconds = 1}, 1e-6).steps), 5e4,
              5e4 * kExact);
}

TEST_F(ImproveTest, ADescentLeavesHalfOfTheBudgetToTheAnnealing) {
  const Result result = Run({.steps = 3'000}, 0);
  ASSERT_EQ(result.phases.size(), 2u) << "too little for a quick annealing, too";
  EXPECT_FALSE(result.phases[0].finished);
  EXPECT_GT(result.phases[1].steps, 1'000u);
}

TEST_F(ImproveTest, AQuickAnnealingComesFirstForThoseWhoStopEarly) {
  const Result result = Run({.steps = 1'000'000}, 0);
  ASSERT_EQ(result.phases.size(), 3u);
  EXPECT_EQ(result.phases[1].name, kQuickPhase);
  EXPECT_EQ(result.phases[2].name, kAnnealingPhase);
  const double annealed = static_cast<double>(result.phases[1].steps + result.phases[2].steps);
  EXPECT_NEAR(static_cast<double>(result.phases[1].steps), annealed / 10, annealed / 20);
  // Of what there is to gain, most was gained by then.
  Portfolio search(model_, {.seed = 1});
  std::vector<Score> best;
  const auto look = [&](const Spent&, double part) {
    if (best.empty() || (best.size() == 1 && part >= 0.6)) best.push_back(search.BestScore());
    return true;
  };
  Improve(search, {.budget = {.steps = 1'000'000}, .go_on = look});
  best.push_back(search.BestScore());
  ASSERT_EQ(best.size(), 3u);
  const auto cost = [](const Score& score) {
    double sum = 0;
    for (int l = kFirstGoalLevel; l < kMovementLevel; ++l) sum += score[l];
    return sum;
  };
  EXPECT_LT(cost(best[1]) - cost(best[2]), 0.2 * (cost(best[0]) - cost(best[2])));
}

// All servers are full, and the first one is above its limit. No object fits anywhere, and a
// descent looks at moves, and at trades with few others.
TEST(ImproveBrokenTest, WhatTheDescentLeavesBrokenIsMendedBeforeAnythingIsAnnealed) {
  SmallFleet fleet;
  fleet.Server(100).Objects({{{51}, 0}, {{50}, 0}});
  for (int server = 1; server < 2'000; ++server) {
    fleet.Server(100).Objects({{{server == 1'000 ? 49 : 52}, server}, {{48}, server}});
  }
  const Problem problem = fleet.Make();
  Model model(problem);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  Portfolio portfolio(model, {});
  const Outcome outcome = Improve(portfolio, {.budget = {.steps = 10'000'000}});
  EXPECT_LE(portfolio.BestScore()[kConstraintLevel], kTolerance);
  ASSERT_GE(outcome.phases.size(), 2u);
  EXPECT_EQ(outcome.phases[1].name, kMendingPhase);
  EXPECT_TRUE(outcome.phases[1].improved);
}

TEST_F(ImproveTest, SearchesSideBySideShareTheBudget) {
  searches_ = 3;
  for (uint64_t steps : {100'000, 300'000}) {
    EXPECT_NEAR(static_cast<double>(Run({.steps = steps}, 0).steps), static_cast<double>(steps),
                kExact * static_cast<double>(steps));
  }
  EXPECT_NEAR(1e-5 * static_cast<double>(Run({.seconds = 3}, 1e-5).steps), 3, 3 * kExact);
}

TEST_F(ImproveTest, SearchesSideBySideRepeatExactlyOnHoweverManyThreads) {
  searches_ = 4;
  const Result in_turn = Run({.steps = 400'000}, 0);
  do_all_ = ForkJoin;
  const Result at_once = Run({.steps = 400'000}, 0);
  EXPECT_EQ(in_turn.steps, at_once.steps);
  EXPECT_TRUE(std::equal(in_turn.where.begin(), in_turn.where.end(), at_once.where.begin()));
  searches_ = 3;
  const Result fewer = Run({.steps = 300'000}, 0);
  EXPECT_FALSE(std::equal(in_turn.where.begin(), in_turn.where.end(), fewer.where.begin()));
}

// Each has as many steps as the one that is alone, which is one of them.
TEST_F(ImproveTest, TheBestOfSeveralSearchesIsAsGoodAsTheFirstAndOftenBetter) {
  const auto best = [&](uint64_t seed, uint32_t searches) {
    Portfolio portfolio(model_, {.seed = seed, .searches = searches});
    portfolio.Descend(Patience());
    constexpr uint64_t kSteps = 100'000;
    portfolio.Anneal({.steps = kSteps * searches});
    return portfolio.BestScore();
  };
  int better = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Score alone = best(seed, 1);
    const Score of_four = best(seed, 4);
    EXPECT_FALSE(alone.BetterThan(of_four)) << "seed " << seed;
    better += of_four.BetterThan(alone);
  }
  EXPECT_GE(better, 5);
}

TEST_F(ImproveTest, EndsWhenItIsTold) {
  Portfolio search(model_, {});
  int asked = 0;
  Improve(search, {.go_on = [&](const Spent&, double) { return ++asked < 9; }});
  EXPECT_EQ(asked, 9);
  Portfolio none(model_, {});
  EXPECT_TRUE(Improve(none, {.go_on = [](const Spent&, double) { return false; }}).phases.empty());
}

// Sixteen servers of eight objects; the limit is a twentieth above the mean.
TEST(FewestMovesTest, LooksForFewerUntilThereAreProvedToBeNone) {
  int fewer = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SmallFleet fleet;
    Random random(seed);
    Amount sum = 0;
    std::vector<Item> items;
    for (int i = 0; i < 128; ++i) {
      items.push_back(
          {{static_cast<Load>(1'000 + random.Below(9'000))}, static_cast<int>(random.Below(16))});
      sum += items.back().load.front();
    }
    for (int i = 0; i < 16; ++i) fleet.Server(sum / 16 * 21 / 20);
    const Problem p = fleet.Objects(items).Make();
    Model model(p);
    ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
    Search descent(model, {});
    descent.Descend();
    ASSERT_EQ(descent.BestScore()[kConstraintLevel], 0);
    Portfolio search(model, {});
    const double least = LeastMovement(search.state());
    const Outcome outcome = Improve(search, {.budget = {.steps = 500'000}});
    EXPECT_EQ(search.BestScore()[kConstraintLevel], 0);
    EXPECT_LE(search.Moves(), descent.Moves());
    EXPECT_EQ(outcome.fewest_moves, search.Moves() == least);
    fewer += search.Moves() < descent.Moves();
  }
  EXPECT_GE(fewer, 1);
}

TEST(FewestMovesTest, ALowerBoundCountsEachServerAlone) {
  const Problem p = SmallFleet()
                        .Server(10)
                        .Server(10)
                        .Server(10)
                        .Closed()
                        .Objects({{{9}, 0}, {{6}, 0}, {{4}, 0}, {{5}, 1}, {{5}, 1}, {{1}, 2}})
                        .Make();
  Model model(p);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  EXPECT_EQ(LeastMovement(State(model)), 1) << "the largest, and nothing must leave server 2";
  ASSERT_TRUE(model.AddGoal(DrainSpec{.containers = {ContainerId(2)}}, {}).ok());
  EXPECT_EQ(LeastMovement(State(model)), 2);
  MoveCostSpec costs;
  for (double cost : {7.0, 5.0, 6.0, 1.0, 1.0, 2.0}) costs.cost.push_back(cost);
  ASSERT_TRUE(costs.AddTo(model, {.level = kMovementLevel}).ok());
  EXPECT_EQ(LeastMovement(State(model)), 7) << "by the cheapest";
}

TEST(PaceTest, TheCourseOfTemperaturesIsInWhatIsLeft) {
  Pace pace({.seconds = 10});
  const auto first = pace.Next({.seconds = 6});
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->progress, 0);
  EXPECT_NEAR(pace.Next({.seconds = 8})->progress, 0.5, 1e-9);
  EXPECT_FALSE(pace.Next({.seconds = 10}).has_value());
}

TEST(PaceTest, StepsFollowWhatTheLastOnesTook) {
  Pace pace({.seconds = 1});
  double now = 0;
  uint64_t last = 0;
  double end = 0;
  while (const auto stretch = pace.Next({.seconds = now})) {
    EXPECT_GE(stretch->progress_after, stretch->progress);
    now += static_cast<double>(stretch->steps) * 3e-6;
    last = std::max(last, stretch->steps);
    end = stretch->progress_after;
  }
  EXPECT_NEAR(now, 1, 0.005);
  EXPECT_NEAR(end, 1, 0.005);
  EXPECT_NEAR(static_cast<double>(last) * 3e-6, 0.0025, 0.0005);
}

TEST(PaceTest, AClockThatStandsStillIsNoEndlessStretch) {
  Pace pace({.seconds = 1});
  uint64_t most = 0;
  for (int i = 0; i < 100; ++i) most = std::max(most, pace.Next({})->steps);
  EXPECT_LE(most, uint64_t{1} << 20);
}

}  // namespace
}  // namespace shardmanager::solver
