// Constraints that are broken at the start, and that no single move or swap repairs: annealing
// does.
#include <gtest/gtest.h>

#include <functional>

#include "allocator/solver/specs/all.h"
#include "small_fleet.h"

namespace shardmanager::solver {
namespace {

// Server 0, in a rack and a region of its own, is full of two large objects; the others, with small
// ones, are full, too. For a large object to leave, two small ones have to come.
SmallFleet FullFleet(const std::vector<Item>& large) {
  SmallFleet fleet({"cpu", "memory"});
  fleet.Server(4, 0, 0).Server(4, 1, 1).Server(4, 2, 1).Server(4, 3, 1);
  fleet.Group(large);
  for (int server = 1; server < 4; ++server) {
    int room = 4;
    for (const Item& item : large) room -= item.start == server ? 2 : 0;
    for (int i = 0; i < room; ++i) fleet.Objects({{{1, 1}, server}});
  }
  return fleet;
}

// Server 0 has something large to give away; two others have room for half of it each.
SmallFleet FragmentedFleet() {
  SmallFleet fleet({"cpu", "memory"});
  fleet.Server(4).Server(4).Server(4);
  fleet.Objects({{{2, 2}, 0}, {{2, 2}, 0}, {{2, 2}, 0}});
  for (int server = 1; server < 3; ++server) {
    for (int i = 0; i < 3; ++i) fleet.Objects({{{1, 1}, server}});
  }
  return fleet;
}

struct Broken {
  const char* name;
  Problem problem;
  std::function<absl::Status(Model&)> add;
};

template <typename Id>
Table<GroupId, Id> OfFirst(const Problem& problem, Id value, Id others) {
  Table<GroupId, Id> table(problem.groups(), others);
  table[GroupId(0)] = value;
  return table;
}

// The large object needs what only the other racks have.
absl::Status AddDependency(Model& model) {
  DependencySpec spec{.scope = "rack", .needed = {}};
  for (uint32_t g = 0; g < model.problem().groups(); ++g) spec.needed.push_back({});
  spec.needed[GroupId(0)] = {GroupId(1)};
  return model.AddConstraint(spec);
}

// On server 0 memory exceeds processor time by 2. Two objects could make up for it, one on each of
// the other servers; all servers are full.
Problem Lopsided() {
  SmallFleet fleet({"cpu", "memory"});
  fleet.Server(8).Server(8).Server(8).Objects({{{1, 3}, 0}, {{3, 3}, 0}}).Pinned();
  for (int server = 1; server < 3; ++server) {
    fleet.Objects({{{1, 0}, server}, {{1, 1}, server}, {{2, 2}, server}});
  }
  return fleet.Make();
}

// Server 0 lacks load. What it has must be traded for two others together, as server 1 would lack
// some otherwise.
Problem Lacking() {
  SmallFleet fleet;
  fleet.Server(10).Server(8).Objects({{{6}, 0}, {{4}, 1}, {{4}, 1}});
  return fleet.Make();
}

// Two of one group stand beside one of another, which must not go: both have to.
Problem UnwantedCompany() {
  return SmallFleet().Server(9).Server(9).Group({{{1}, 0}, {{1}, 0}}).Objects({{{1}, 0}}).Make();
}

// Server 0 costs something. Its object fits where two small ones make room for each other.
Problem Dear() {
  SmallFleet fleet;
  fleet.Server(4).Server(4).Server(4).Objects({{{2}, 0}});
  for (int i = 0; i < 6; ++i) fleet.Objects({{{1}, 1 + i / 3}});
  return fleet.Make();
}

// The first group and the last one do not stand together.
absl::Status AddCompany(Model& model) {
  const GroupId last(model.problem().groups() - 1);
  return model.AddConstraint(CompanySpec{.limits = {{.group = GroupId(0), .with = last}}});
}

absl::Status AddCompanyOfOneThatStays(Model& model) {
  const absl::Status s = model.AddConstraint(PinSpec{.domains = {{2, {DomainId(0)}}}});
  return s.ok() ? AddCompany(model) : s;
}

absl::Status AddInUse(Model& model) {
  InUseSpec spec;
  spec.cost.assign(model.problem().containers, 0);
  spec.cost[ContainerId(0)] = 1;
  return model.AddConstraint(spec);
}

std::vector<Broken> Cases() {
  const Problem pair = FullFleet({{{2, 2}, 0}, {{2, 2}, 0}}).Make();
  const auto pin = [](Model& m) {
    return m.AddConstraint(PinSpec{.scope = "region", .domains = {{0, {DomainId(1)}}}});
  };
  SmallFleet shared({"cpu", "memory"});
  shared.Server(4).Server(4).Server(4).Server(4);
  for (int i = 0; i < 2; ++i) shared.Group({{{2, 2}, 0}, {{2, 2}, 1}});
  for (int i = 0; i < 8; ++i) shared.Objects({{{1, 1}, 2 + i / 4}});
  SmallFleet drained({"cpu", "memory"});
  drained.Server(4).Closed().Server(4).Server(4).Objects({{{2, 2}, 0}});
  for (int i = 0; i < 6; ++i) drained.Objects({{{1, 1}, 1 + i / 3}});
  return {
      {"Capacity", FragmentedFleet().Make(), [](Model&) { return absl::OkStatus(); }},
      {"Utilization", FragmentedFleet().Make(),
       [](Model& m) {
         return m.AddConstraint(UtilizationSpec{.metric = "memory", .threshold = 1});
       }},
      {"Exclusion", pair, [](Model& m) { return m.AddConstraint(ExclusionSpec{}); }},
      {"Spread", pair, [](Model& m) { return m.AddConstraint(SpreadSpec{.scope = "region"}); }},
      {"Affinity", pair,
       [](Model& m) {
         return m.AddConstraint(AffinitySpec{
             .scope = "region", .domain = OfFirst(m.problem(), DomainId(1), DomainId())});
       }},
      {"Pin", pair, pin},
      {"Drain", drained.Make(),
       [](Model& m) { return m.AddConstraint(DrainSpec{.containers = {ContainerId(0)}}); }},
      {"Dependency", FullFleet({{{2, 2}, 0}}).Objects({{{2, 2}, 0}}).Make(), AddDependency},
      {"ParallelFailover", shared.Make(),
       [](Model& m) {
         m.AddConstraint(ExclusionSpec{}).IgnoreError();
         return m.AddConstraint(ParallelFailoverSpec{});
       }},
      {"ExclusionOfOneGroup", pair,
       [](Model& m) {
         return m.AddConstraint(
             ExclusionSpec{.most_of_group = OfFirst<uint32_t>(m.problem(), 1, 9)});
       }},
      {"LeastLoad", Lacking(),
       [](Model& m) { return m.AddConstraint(LeastLoadSpec{.metric = "cpu", .least = 0.75}); }},
      {"Company", FullFleet({{{2, 2}, 0}}).Objects({{{2, 2}, 0}}).Make(), AddCompany},
      {"CompanyOfTwo", UnwantedCompany(), AddCompanyOfOneThatStays},
      {"InUse", Dear(), AddInUse},
  };
}

Score After(State& state, std::initializer_list<std::pair<ObjectId, ContainerId>> steps) {
  std::vector<std::pair<ObjectId, ContainerId>> back;
  for (const auto& [o, to] : steps) {
    back.emplace_back(o, state.where(o));
    state.Move(o, to);
  }
  const Score score = state.Total();
  for (const auto& [o, to] : back) state.Move(o, to);
  return score;
}

void ExpectNoSingleStepRepairs(const Model& model) {
  State state(model);
  const Problem& p = model.problem();
  ASSERT_GT(state.Total()[kConstraintLevel], kTolerance);
  for (uint32_t i = 0; i < p.objects; ++i) {
    const ObjectId a(i);
    for (uint32_t c = 0; c < p.containers; ++c) {
      EXPECT_GT(After(state, {{a, ContainerId(c)}})[kConstraintLevel], kTolerance);
    }
    for (uint32_t j = 0; j < i; ++j) {
      const ObjectId b(j);
      EXPECT_GT(After(state, {{a, state.where(b)}, {b, state.where(a)}})[kConstraintLevel],
                kTolerance);
    }
  }
}

TEST(RepairTest, RepairsWhatOnlySeveralStepsTogetherRepair) {
  for (const Broken& broken : Cases()) {
    SCOPED_TRACE(broken.name);
    Model model(broken.problem);
    ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
    ASSERT_TRUE(broken.add(model).ok());
    ExpectNoSingleStepRepairs(model);
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      Search search(model, {.seed = seed});
      search.Anneal({.steps = 100'000});
      EXPECT_LE(search.BestScore()[kConstraintLevel], kTolerance) << "seed " << seed;
    }
  }
}

// A large object stands nowhere; where it would fit, two small ones have to make room, which fit
// where the third server has room for one each.
SmallFleet FleetWithoutAPlace(int large) {
  SmallFleet fleet;
  fleet.Server(4).Server(5).Server(5);
  for (int i = 0; i < large; ++i) fleet.Objects({{{4}, -1}});
  fleet.Objects({{{2}, 0}, {{2}, 0}, {{3}, 1}, {{3}, 2}});
  return fleet;
}

TEST(RepairTest, MakesRoomForWhatStandsNowhere) {
  const Problem problem = FleetWithoutAPlace(1).Make();
  Model model(problem);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Search search(model, {.seed = seed});
    search.Anneal({.steps = 100'000});
    EXPECT_EQ(search.BestScore()[kConstraintLevel], 0) << "seed " << seed;
    EXPECT_EQ(search.BestScore()[kUnplacedLevel], 0) << "seed " << seed;
    search.GoOnFrom(search.Where());
    EXPECT_EQ(search.state().where(ObjectId(0)), ContainerId(0)) << "seed " << seed;
  }
}

// There is room for one of two in sum: nothing is given up for the other one.
TEST(RepairTest, WhatFindsNoRoomStandsUpAgain) {
  const Problem problem = FleetWithoutAPlace(2).Make();
  Model model(problem);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Search search(model, {.seed = seed});
    search.Anneal({.steps = 100'000});
    search.GoOnFrom(search.Where());
    EXPECT_EQ(search.BestScore()[kConstraintLevel], 0) << "seed " << seed;
    EXPECT_EQ(search.BestScore()[kUnplacedLevel], 1) << "seed " << seed;
  }
}

// The first one may stand nowhere, so the room is there for the second one.
TEST(RepairTest, WhatIsKeptOutTakesNoRoom) {
  const Problem problem = FleetWithoutAPlace(2).Make();
  Model model(problem);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  ASSERT_TRUE(model
                  .AddConstraint(PinSpec{.domains = {{0, {DomainId(0), DomainId(1), DomainId(2)}}},
                                         .avoid = true})
                  .ok());
  Search search(model, {});
  search.Anneal({.steps = 100'000});
  EXPECT_EQ(search.BestScore()[kConstraintLevel], 0);
  EXPECT_EQ(search.BestScore()[kUnplacedLevel], 1);
}

TEST(RepairTest, LivesWithNothingThatHasAPlace) {
  const Problem problem = SmallFleet().Server(2).Server(2).Objects({{{3}, -1}}).Make();
  Model model(problem);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  Search search(model, {});
  search.Anneal({.steps = 20'000});
  EXPECT_EQ(search.BestScore()[kConstraintLevel], 0);
  EXPECT_EQ(search.BestScore()[kUnplacedLevel], 1);
}

TEST(RepairTest, ARepairThatWasBrokenOffCanGoOn) {
  const Problem problem = FleetWithoutAPlace(2).Make();
  Model model(problem);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  Search search(model, {});
  search.Anneal({.steps = 1, .progress_after = 0.1});
  EXPECT_EQ(search.BestScore()[kUnplacedLevel], 2);
  for (int i = 0; i < 3; ++i) search.Anneal({.steps = 50'000, .anew = true});
  EXPECT_EQ(search.BestScore()[kConstraintLevel], 0);
  EXPECT_EQ(search.BestScore()[kUnplacedLevel], 1);
  EXPECT_TRUE(search.Descend());
  EXPECT_EQ(search.BestScore()[kUnplacedLevel], 1);
}

// Room in sum for three, and places for two at most: a second annealing tries fewer.
TEST(RepairTest, AfterInVainAnotherAnnealingTriesFewer) {
  SmallFleet fleet;
  fleet.Server(6).Server(6).Server(6).Server(6);
  for (int i = 0; i < 3; ++i) fleet.Objects({{{5}, -1}});
  for (int i = 0; i < 4; ++i) fleet.Objects({{{2}, i}});
  const Problem problem = fleet.Make();
  Model model(problem);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Search search(model, {.seed = seed});
    search.Anneal({.steps = 100'000});
    EXPECT_EQ(search.BestScore()[kUnplacedLevel], 3) << "seed " << seed;
    search.Anneal({.steps = 100'000, .anew = true});
    EXPECT_EQ(search.BestScore()[kConstraintLevel], 0) << "seed " << seed;
    EXPECT_EQ(search.BestScore()[kUnplacedLevel], 2) << "seed " << seed;
  }
}

// Sums of a server's loads with either sign have their repair in the same way.
TEST(RepairTest, RepairsAHeadroomThatTwoOthersMustMakeUpFor) {
  const Problem problem = Lopsided();
  Model model(problem);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu", .limit = 0.5}).ok());
  ASSERT_TRUE(model.AddConstraint(HeadroomRatioSpec{.metric = "cpu", .with = "memory"}).ok());
  ExpectNoSingleStepRepairs(model);
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Search search(model, {.seed = seed});
    search.Anneal({.steps = 100'000});
    EXPECT_LE(search.BestScore()[kConstraintLevel], kTolerance) << "seed " << seed;
  }
}

// What nothing repairs does not keep the goals from getting better.
TEST(RepairTest, SeeksTheGoalsBesideWhatCannotBeRepaired) {
  SmallFleet fleet;
  fleet.Server(4).Server(40).Server(40).Objects({{{50}, 0}}).Pinned();
  fleet.Objects(std::vector<Item>(10, Item{{3}, 1}));
  const Problem problem = fleet.Make();
  Model model(problem);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  ASSERT_TRUE(model.AddGoal(UtilizationSpec{.metric = "cpu", .threshold = 0.4}, {}).ok());
  const Score before = CostOf(model);
  Search search(model, {});
  search.Anneal({.steps = 50'000});
  EXPECT_NEAR(search.BestScore()[kConstraintLevel], before[kConstraintLevel], kTolerance);
  EXPECT_LT(search.BestScore()[GoalLevel(1)], before[GoalLevel(1)]);
}

}  // namespace
}  // namespace shardmanager::solver
