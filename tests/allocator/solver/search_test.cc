// What a search promises, whatever the problem.
#include "allocator/solver/search.h"

#include <gtest/gtest.h>

#include "allocator/solver/specs/all.h"
#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

ContainerId Server(size_t i) { return ContainerId(i); }

uint32_t MovesOf(const Problem& p, const Search& search) {
  const auto where = search.Where();
  uint32_t moves = 0;
  for (uint32_t i = 0; i < p.objects; ++i) {
    moves += p.start[ObjectId(i)].valid() && where[ObjectId(i)] != p.start[ObjectId(i)];
  }
  return moves;
}

TEST(SearchTest, PlacesWhatIsNowhere) {
  const Problem p = SmallFleet().Server(10).Server(10).Objects({{{6}}, {{6}}}).Make();
  Model model(p);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  Search search(model, {});
  EXPECT_TRUE(search.Descend());
  EXPECT_FALSE(Score{}.BetterThan(search.BestScore()));
}

TEST(SearchTest, LeavesOutWhatHasNoRoomRatherThanBreakAConstraint) {
  const Problem p = SmallFleet().Server(10).Server(10).Objects({{{6}}, {{6}}, {{6}}}).Make();
  Model model(p);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  Search search(model, {});
  EXPECT_TRUE(search.Descend());
  EXPECT_EQ(search.BestScore()[kConstraintLevel], 0);
  EXPECT_EQ(search.BestScore()[kUnplacedLevel], 1);
}

TEST(SearchTest, PutsNothingOnAClosedServer) {
  Problem p = RandomFleet(1, 10, 100, 0.7);
  p.closed[Server(3)] = true;
  Model model(p);
  AddEverything(model);
  Search search(model, {});
  search.Descend();
  const auto where = search.Where();
  for (uint32_t i = 0; i < p.objects; ++i) {
    if (p.start[ObjectId(i)] == Server(3)) continue;
    EXPECT_NE(where[ObjectId(i)], Server(3)) << i;
  }
}

TEST(SearchTest, EmptiesADrainingServer) {
  Problem p = RandomFleet(2, 10, 100, 0.6);
  p.closed[Server(0)] = true;
  Model model(p);
  AddEverything(model);
  Search search(model, {});
  EXPECT_FALSE(search.state().On(Server(0)).empty());
  search.Descend();
  EXPECT_TRUE(search.state().On(Server(0)).empty());
}

TEST(SearchTest, LeavesEverythingWhenEveryServerIsDraining) {
  Problem p = RandomFleet(3, 5, 40, 0.5);
  DrainSpec drain;
  for (size_t c = 0; c < 5; ++c) {
    p.closed[Server(c)] = true;
    drain.containers.push_back(Server(c));
  }
  Model model(p);
  ASSERT_TRUE(model.AddGoal(drain, {}).ok());
  Search search(model, {});
  search.Descend();
  EXPECT_EQ(MovesOf(p, search), 0u);
}

TEST(SearchTest, LeavesPinnedObjectsWhereTheyAre) {
  Problem p = RandomFleet(4, 10, 100, 0.7);
  for (uint32_t i = 0; i < p.objects; i += 2) p.pinned[ObjectId(i)] = true;
  Model model(p);
  AddEverything(model);
  Search search(model, {});
  search.Descend();
  const auto where = search.Where();
  for (uint32_t i = 0; i < p.objects; i += 2) EXPECT_EQ(where[ObjectId(i)], p.start[ObjectId(i)]);
  EXPECT_GT(MovesOf(p, search), 0u);
}

TEST(SearchTest, BringsObjectsToTheirPinsAndAwayFromWhatTheyAvoid) {
  const Problem p = RandomFleet(5, 12, 60, 0.4);
  const PinSpec pin{.scope = "rack", .domains = {{7, {DomainId(2)}}, {9, {DomainId(4)}}}};
  const PinSpec avoid{.scope = "server",
                      .domains = {{12, {DomainId(p.start[ObjectId(12)].index())}}},
                      .avoid = true};
  Model model(p);
  ASSERT_TRUE(model.AddConstraint(pin).ok());
  ASSERT_TRUE(model.AddConstraint(avoid).ok());
  Search search(model, {});
  search.Descend();
  const auto where = search.Where();
  EXPECT_EQ(model.DomainOf(ScopeId(1), where[ObjectId(7)]), DomainId(2));
  EXPECT_EQ(model.DomainOf(ScopeId(1), where[ObjectId(9)]), DomainId(4));
  EXPECT_NE(where[ObjectId(12)], p.start[ObjectId(12)]);
}

TEST(SearchTest, LetsPinsThatConflictWithARuleStandAsTheirReason) {
  // Two of a group are pinned to one server, which may hold only one of them.
  const Problem p = SmallFleet().Server(9).Server(9).Group({{{1}, 0}, {{1}, 1}}).Make();
  Model model(p);
  ASSERT_TRUE(model.AddConstraint(ExclusionSpec{}).ok());
  ASSERT_TRUE(
      model.AddConstraint(PinSpec{.domains = {{0, {DomainId(0)}}, {1, {DomainId(0)}}}}).ok());
  Search search(model, {});
  EXPECT_TRUE(search.Descend());
  EXPECT_EQ(search.BestScore()[kConstraintLevel], 1);
}

TEST(SearchTest, KeepsMoveLimits) {
  const Problem p = RandomFleet(6, 10, 200, 0.7);
  Model model(p);
  ASSERT_TRUE(model.AddGoal(BalanceSpec{.metric = "cpu"}, {}).ok());
  ASSERT_TRUE(model.AddConstraint(MoveLimitSpec{.total = 7, .per_container = 2}).ok());
  Search search(model, {});
  const Score before = search.BestScore();
  search.Descend();
  const Score after = search.BestScore();
  EXPECT_EQ(after[kConstraintLevel], before[kConstraintLevel]);
  EXPECT_LT(after[GoalLevel(1)], before[GoalLevel(1)]);
  EXPECT_LE(MovesOf(p, search), 7u);
}

TEST(SearchTest, StopsAtTheMostMoves) {
  const Problem p = RandomFleet(6, 10, 200, 0.7);
  Model model(p);
  AddEverything(model);
  Search search(model, {.most_moves = 5});
  EXPECT_FALSE(search.Descend());
  // A step under way is ended.
  EXPECT_LE(MovesOf(p, search), 8u);
}

TEST(SearchTest, KeepsRoomForMovesInFlight) {
  const Problem p = RandomFleet(7, 10, 200, 0.5);
  Model model(p);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu", .transient = true}).ok());
  ASSERT_TRUE(model.AddGoal(BalanceSpec{.metric = "cpu"}, {}).ok());
  Search search(model, {});
  const Score before = search.BestScore();
  search.Descend();
  const auto where = search.Where();
  std::vector<Amount> held(10, 0);
  for (uint32_t i = 0; i < p.objects; ++i) {
    const ObjectId o(i);
    held[where[o].index()] += p.LoadOf(o)[0];
    if (p.start[o].valid() && p.start[o] != where[o]) held[p.start[o].index()] += p.LoadOf(o)[0];
  }
  for (size_t c = 0; c < held.size(); ++c) {
    EXPECT_LE(held[c], p.CapacityOf(Server(c), MetricId(0))) << c;
  }
  EXPECT_LT(search.BestScore()[GoalLevel(1)], before[GoalLevel(1)]);
}

TEST(SearchTest, GivesTheSameAnswerForTheSameSeed) {
  const Problem p = RandomFleet(8, 20, 300, 0.8);
  Model model(p);
  AddEverything(model);
  const auto solve = [&] {
    Search search(model, {.seed = 7});
    search.Descend();
    search.Anneal({.steps = 5'000});
    return search.Where();
  };
  const auto a = solve();
  const auto b = solve();
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
}

TEST(SearchTest, ComesToAPlaceWhereNothingMovesAnyMore) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Problem p = RandomFleet(seed, 20, 300, 0.7);
    uint32_t moves = UINT32_MAX;
    for (int round = 0; round < 4 && moves > 0; ++round) {
      Model model(p);
      AddEverything(model);
      Search search(model, {.seed = seed});
      search.Descend();
      const Problem next = StartingAt(p, search.Where());
      moves = MovesOf(p, search);
      p = next;
    }
    EXPECT_EQ(moves, 0u) << "seed " << seed;
  }
}

TEST(SearchTest, EndsWhereNoSingleMoveHelpsAGroup) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Problem problem = RandomFleet(seed, 12, 60, 0.7);
    Model model(problem);
    AddEverything(model);
    Search search(model, {.seed = seed});
    ASSERT_TRUE(search.Descend());
    State& state = search.mutable_state();
    for (uint32_t i = 0; i < problem.objects; ++i) {
      const ObjectId o(i);
      if (!state.group_board().Pays(state.group_board().GroupOf(o)) || !state.where(o).valid())
        continue;
      const ContainerId from = state.Lift(o);
      const Score here = state.Arrival(o, from);
      for (uint32_t c = 0; c < problem.containers; ++c) {
        if (problem.closed[ContainerId(c)] || ContainerId(c) == from) continue;
        EXPECT_FALSE(state.Arrival(o, ContainerId(c)).BetterThan(here))
            << "seed " << seed << ": object " << i << " to " << c;
      }
      state.Put(o, from, from);
    }
  }
}

TEST(SearchTest, EndsWithinItsStepsWithNothingWorse) {
  const Problem p = RandomFleet(9, 30, 600, 0.8);
  Model model(p);
  AddEverything(model);
  Score last = CostOf(model);
  for (uint64_t budget : {0, 1, 10, 100, 1'000, 10'000, 100'000}) {
    Search search(model, {.step_budget = budget});
    search.Descend();
    // What was begun is ended: one look around for one group, at most.
    EXPECT_LE(search.steps(), budget + 500) << budget;
    EXPECT_FALSE(last.BetterThan(search.BestScore())) << budget;
    last = search.BestScore();
  }
}

// It takes 2'000 steps to empty server 0, and 2'000 more to see that no object should return.
TEST(SearchTest, StopsInTheMiddleOfAPhaseWhenItsStepsAreSpent) {
  const Problem p = SmallFleet()
                        .Server(kUnlimited)
                        .Closed()
                        .Server(kUnlimited)
                        .Objects(std::vector<Item>(1'000, Item{{1}, 0}))
                        .Make();
  Model model(p);
  ASSERT_TRUE(model.AddGoal(DrainSpec{.containers = {Server(0)}}, {}).ok());
  for (uint64_t budget : {1'000, 3'000}) {
    Search search(model, {.step_budget = budget});
    EXPECT_FALSE(search.Descend());
    EXPECT_LE(search.steps(), budget + 100);
  }
}

TEST(SearchTest, IsNeverWorseThanTheStart) {
  for (uint64_t seed = 1; seed <= 40; seed += 4) {
    const double load = 0.3 + 0.03 * static_cast<double>(seed);
    const Problem p = RandomFleet(seed, 8, 60, load);
    Model model(p);
    AddEverything(model);
    Search search(model, {.seed = seed});
    const Score before = search.BestScore();
    search.Descend();
    EXPECT_FALSE(before.BetterThan(search.BestScore())) << "descent, seed " << seed;
    const Score descended = search.BestScore();
    search.Anneal({.steps = 2'000, .hot = 1});
    EXPECT_FALSE(descended.BetterThan(search.BestScore())) << "annealing, seed " << seed;
  }
}

TEST(SearchTest, NeverBreaksAConstraintThatWasKept) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Problem p = RandomFleet(seed, 8, 60, 0.9);
    Model model(p);
    AddEverything(model);
    Search search(model, {.seed = seed});
    const double before = search.BestScore()[kConstraintLevel];
    search.Descend();
    EXPECT_LE(search.BestScore()[kConstraintLevel], before + kTolerance) << seed;
  }
}

// Neither chains nor windows go on for ever where no goal can be reached.
TEST(SearchTest, EndsSoonInAFleetThatIsTooSmall) {
  for (const double load : {0.93, 1.2}) {
    Problem p = RandomFleet(11, 100, 2'000, load);
    Model model(p);
    AddEverything(model);
    Search search(model, {});
    EXPECT_TRUE(search.Descend());
    EXPECT_LT(search.steps(), 4'000'000u) << load;

    p.start.assign(p.objects, ContainerId());
    Model empty(p);
    AddEverything(empty);
    Search placing(empty, {});
    EXPECT_TRUE(placing.Descend());
    EXPECT_LT(placing.steps(), 4'000'000u) << load;
    EXPECT_EQ(placing.BestScore()[kConstraintLevel], 0);
  }
}

// Chains for the sake of goals have a budget, however many servers would like some.
TEST(SearchTest, EndsSoonWhereEveryServerIsAboveAGoal) {
  const Problem p = RandomFleet(12, 50, 1'000, 0.95);
  Model model(p);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  for (const char* metric : {"cpu", "memory"}) {
    ASSERT_TRUE(model.AddGoal(UtilizationSpec{.metric = metric, .threshold = 0.5}, {}).ok());
  }
  Search search(model, {});
  EXPECT_TRUE(search.Descend());
  EXPECT_LT(search.steps(), 4'000'000u);
}

// Neither of two groups that need each other can leave a rack alone; one after the other,
// with the constraint broken in between, they can.
TEST(SearchTest, AnnealsThroughAConstraintThatTiesGroups) {
  SmallFleet fleet;
  fleet.Server(10, 0).Server(10, 1).Objects({{{1}, 0}, {{1}, 0}});
  const Problem p = fleet.Make();
  Model model(p);
  DependencySpec both{.scope = "rack", .needed = {}};
  both.needed.push_back({GroupId(1)});
  both.needed.push_back({GroupId(0)});
  ASSERT_TRUE(model.AddConstraint(both).ok());
  ASSERT_TRUE(model.AddGoal(DrainSpec{.containers = {Server(0)}}, {.weight = 10}).ok());
  Search search(model, {});
  search.Anneal({.steps = 20'000, .hot = 0.5});
  EXPECT_EQ(search.BestScore()[kConstraintLevel], 0);
  EXPECT_EQ(search.BestScore()[GoalLevel(1)], 0);
}

// The descent places one object after another: the servers carry 5 and 7. A trade makes that 6
// and 6. The second annealing finds it if it does not rely on what the first one saw.
TEST(SearchTest, AnnealsOnFromWhatADescentFound) {
  const Problem p = SmallFleet()
                        .Server(8)
                        .Server(8)
                        .Objects({{{0}, 0}, {{3}}, {{3}}, {{2}}, {{2}}, {{2}}})
                        .Make();
  Model model(p);
  ASSERT_TRUE(model.AddGoal(BalanceSpec{.metric = "cpu", .tolerance = 0}, {}).ok());
  Search search(model, {.emergency = true});
  search.Anneal({.steps = 0, .progress_after = 0.5});
  search.Descend();
  EXPECT_EQ(search.BestScore()[kUnplacedLevel], 0);
  EXPECT_GT(search.BestScore()[GoalLevel(1)], 0);
  search.Anneal({.steps = 20'000, .hot = 0.5});
  EXPECT_EQ(search.BestScore()[GoalLevel(1)], 0);
}

TEST(SearchTest, InAnEmergencyMovesNothingThatIsPlaced) {
  const Problem p = RandomFleet(10, 20, 300, 0.6);
  Model model(p);
  AddEverything(model);
  Search search(model, {.emergency = true});
  search.Descend();
  EXPECT_EQ(MovesOf(p, search), 0u);
  EXPECT_EQ(search.BestScore()[kUnplacedLevel], 0);
}

TEST(SearchTest, LivesWithAnEmptyFleet) {
  const Problem p = SmallFleet().Objects({{{1}}, {{1}}}).Make();
  Model model(p);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  ASSERT_TRUE(model.AddGoal(BalanceSpec{.metric = "cpu"}, {}).ok());
  Search search(model, {});
  EXPECT_TRUE(search.Descend());
  search.Anneal({.steps = 100});
  EXPECT_EQ(search.BestScore()[kUnplacedLevel], 2);
}

TEST(SearchTest, LivesWithNothingToPlace) {
  const Problem p = SmallFleet().Server(5).Server(5).Make();
  Model model(p);
  ASSERT_TRUE(model.AddGoal(BalanceSpec{.metric = "cpu"}, {}).ok());
  Search search(model, {});
  EXPECT_TRUE(search.Descend());
  search.Anneal({.steps = 100});
  EXPECT_FALSE(Score{}.BetterThan(search.BestScore()));
}

TEST(SearchTest, PlacesAsManyOfALargeGroupAsThereAreDomains) {
  const Problem p = SmallFleet()
                        .Server(9, 0)
                        .Server(9, 0)
                        .Server(9, 1)
                        .Group(std::vector<Item>(5, Item{{1}}))
                        .Make();
  Model model(p);
  ASSERT_TRUE(model.AddConstraint(ExclusionSpec{.scope = "rack"}).ok());
  Search search(model, {});
  EXPECT_TRUE(search.Descend());
  EXPECT_EQ(search.BestScore()[kConstraintLevel], 0);
  EXPECT_EQ(search.BestScore()[kUnplacedLevel], 3);
}

TEST(SearchTest, AnObjectLargerThanAnyServerHurtsNobodyElse) {
  const Problem p =
      SmallFleet().Server(10).Server(10).Objects({{{500}, 0}, {{4}, 0}, {{4}, 0}, {{4}}}).Make();
  Model model(p);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  Search search(model, {});
  EXPECT_TRUE(search.Descend());
  // It stands alone; two share the other server; the one that came last does not fit.
  const auto where = search.Where();
  EXPECT_EQ(search.state().On(where[ObjectId(0)]).size(), 1u);
  EXPECT_EQ(search.BestScore()[kUnplacedLevel], 1);
}

TEST(SearchTest, ServersWithoutCapacityEndUpEmpty) {
  const Problem p =
      SmallFleet().Server(0).Server(10).Objects({{{4}, 0}, {{4}, 0}, {{0}, 0}}).Make();
  Model model(p);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  Search search(model, {});
  EXPECT_TRUE(search.Descend());
  EXPECT_EQ(search.BestScore()[kConstraintLevel], 0);
  EXPECT_EQ(search.state().On(Server(0)).size(), 1u);  // what weighs nothing stays
}

}  // namespace
}  // namespace shardmanager::solver
