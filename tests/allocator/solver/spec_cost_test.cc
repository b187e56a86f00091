// What each spec charges, on cases worked out by hand.
#include <gtest/gtest.h>

#include <memory>

#include "allocator/solver/specs/all.h"
#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

template <typename Spec>
double ConstraintCost(const Problem& problem, const Spec& spec) {
  Model model(problem);
  const absl::Status added = model.AddConstraint(spec);
  EXPECT_TRUE(added.ok()) << added;
  return CostOf(model)[kConstraintLevel];
}

// Of the state after `moves`.
template <typename Spec>
double CostAfter(const Problem& problem, const Spec& spec,
                 const std::vector<std::pair<int, int>>& moves) {
  Model model(problem);
  const absl::Status added = model.AddConstraint(spec);
  EXPECT_TRUE(added.ok()) << added;
  State state(model);
  for (const auto& [object, to] : moves) {
    state.Move(ObjectId(static_cast<size_t>(object)), ContainerId(static_cast<size_t>(to)));
  }
  return state.Total()[kConstraintLevel];
}

TEST(SpecCostTest, CapacityCountsWhatIsAboveAsPartOfTheCapacity) {
  const Problem p =
      SmallFleet().Server(100).Server(200).Objects({{{90}, 0}, {{40}, 0}, {{150}, 1}}).Make();
  EXPECT_DOUBLE_EQ(ConstraintCost(p, CapacitySpec{.metric = "cpu"}), 0.3);
  EXPECT_DOUBLE_EQ(ConstraintCost(p, CapacitySpec{.metric = "cpu", .limit = 0.5}), 0.8 + 0.25);
}

TEST(SpecCostTest, CapacityOfARackIsTheSumOfItsServers) {
  const Problem p = SmallFleet()
                        .Server(100, 0)
                        .Server(100, 0)
                        .Server(100, 1)
                        .Objects({{{150}, 0}, {{100}, 1}, {{90}, 2}})
                        .Make();
  EXPECT_DOUBLE_EQ(ConstraintCost(p, CapacitySpec{.scope = "rack", .metric = "cpu"}), 0.25);
}

TEST(SpecCostTest, CapacityCountsWhatTheProblemLeavesOut) {
  Problem p = SmallFleet().Server(100).Objects({{{60}, 0}}).Make();
  p.base_usage = {50};
  EXPECT_DOUBLE_EQ(ConstraintCost(p, CapacitySpec{.metric = "cpu"}), 0.1);
}

TEST(SpecCostTest, TransientCapacityCountsBothEndsOfAMove) {
  const Problem p = SmallFleet().Server(100).Server(100).Objects({{{60}, 0}, {{60}, 1}}).Make();
  EXPECT_DOUBLE_EQ(CostAfter(p, CapacitySpec{.metric = "cpu", .transient = true}, {}), 0);
  // Both trade places: each server holds its old one and the new one for a while.
  EXPECT_DOUBLE_EQ(CostAfter(p, CapacitySpec{.metric = "cpu", .transient = true}, {{0, 1}, {1, 0}}),
                   0.4);
  EXPECT_DOUBLE_EQ(CostAfter(p, CapacitySpec{.metric = "cpu"}, {{0, 1}, {1, 0}}), 0);
  // Home again: nothing is in flight.
  EXPECT_DOUBLE_EQ(CostAfter(p, CapacitySpec{.metric = "cpu", .transient = true},
                             {{0, 1}, {1, 0}, {0, 0}, {1, 1}}),
                   0);
}

TEST(SpecCostTest, UtilizationCountsWhatIsAboveItsThreshold) {
  const Problem p = SmallFleet().Server(100).Objects({{{95}, 0}}).Make();
  Model model(p);
  ASSERT_TRUE(
      model
          .AddGoal(UtilizationSpec{.metric = "cpu", .threshold = 0.9}, {.priority = 4, .weight = 3})
          .ok());
  EXPECT_DOUBLE_EQ(CostOf(model)[GoalLevel(4)], 3 * 0.05);
  EXPECT_EQ(CostOf(model)[kConstraintLevel], 0);
}

TEST(SpecCostTest, BalanceSharesByCapacity) {
  const Problem p = SmallFleet().Server(100).Server(300).Objects({{{60}, 0}, {{20}, 1}}).Make();
  // Shares are 20 and 60, and a tenth more is let pass.
  EXPECT_DOUBLE_EQ(ConstraintCost(p, BalanceSpec{.metric = "cpu"}), 0.38);
  EXPECT_DOUBLE_EQ(ConstraintCost(p, BalanceSpec{.metric = "cpu", .tolerance = 0}), 0.40);
}

TEST(SpecCostTest, EvenBalanceSharesByHead) {
  const Problem p =
      SmallFleet().Server(100).Server(300).Objects({{{1}, 0}, {{1}, 0}, {{1}, 0}}).Make();
  // One and a half each: one above two, two above one.
  EXPECT_DOUBLE_EQ(ConstraintCost(p, BalanceSpec{.metric = "cpu", .tolerance = 0, .even = true}),
                   3);
  EXPECT_DOUBLE_EQ(
      CostAfter(p, BalanceSpec{.metric = "cpu", .tolerance = 0, .even = true}, {{0, 1}}), 1);
}

TEST(SpecCostTest, ServersWithoutLimitShareByHead) {
  const Problem p =
      SmallFleet().Server(kUnlimited).Server(kUnlimited).Objects({{{4}, 0}, {{4}, 0}}).Make();
  EXPECT_DOUBLE_EQ(ConstraintCost(p, BalanceSpec{.metric = "cpu", .tolerance = 0}), 8);
}

// In region 0 the share is 30, in region 1 it is 90; over all it is 50, which nobody
// pays for.
TEST(SpecCostTest, BalanceWithinRegionsLooksAtEachRegionAlone) {
  const Problem p = SmallFleet()
                        .Server(100, 0, 0)
                        .Server(100, 0, 0)
                        .Server(100, 1, 1)
                        .Objects({{{60}, 0}, {{90}, 2}})
                        .Make();
  EXPECT_DOUBLE_EQ(
      ConstraintCost(p, BalanceSpec{.metric = "cpu", .tolerance = 0, .within = "region"}), 0.1);
}

TEST(SpecCostTest, ClosedServersHaveNoShare) {
  const Problem p =
      SmallFleet().Server(100).Closed().Server(100).Objects({{{40}, 0}, {{20}, 1}}).Make();
  EXPECT_DOUBLE_EQ(ConstraintCost(p, BalanceSpec{.metric = "cpu", .tolerance = 0}), 0.4);
}

TEST(SpecCostTest, OverageCountsUnits) {
  const Problem p = SmallFleet().Server(100).Server(100).Objects({{{70}, 0}, {{5}, 1}}).Make();
  Table<DomainId, Amount> limit;
  limit.push_back(50);
  limit.push_back(kUnlimited);
  EXPECT_DOUBLE_EQ(ConstraintCost(p, OverageSpec{.metric = "cpu", .limit = limit}), 20);
}

TEST(SpecCostTest, HeadroomRatioWantsRoomOfBothKinds) {
  const Problem p = SmallFleet({"cpu", "memory"}).Server(100).Objects({{{50, 40}, 0}}).Make();
  EXPECT_DOUBLE_EQ(
      ConstraintCost(p, HeadroomRatioSpec{.metric = "cpu", .with = "memory", .ratio = 2}), 40);
}

// Three of a group on one server, one on another of the same rack.
Problem Crowded() {
  return SmallFleet()
      .Server(100, 0, 0)
      .Server(100, 0, 0)
      .Server(100, 1, 1)
      .Group({{{1}, 0}, {{1}, 0}, {{1}, 0}, {{1}, 1}})
      .Make();
}

TEST(SpecCostTest, ExclusionCountsEachOneTooMany) {
  EXPECT_DOUBLE_EQ(ConstraintCost(Crowded(), ExclusionSpec{}), 2);
  EXPECT_DOUBLE_EQ(ConstraintCost(Crowded(), ExclusionSpec{.scope = "rack", .most = 2}), 2);
  EXPECT_DOUBLE_EQ(ConstraintCost(Crowded(), ExclusionSpec{.scope = "rack", .most = 4}), 0);
}

TEST(SpecCostTest, SpreadCountsMissingDomains) {
  EXPECT_DOUBLE_EQ(ConstraintCost(Crowded(), SpreadSpec{.scope = "region"}), 1);
  // No more than the group has objects, however many domains there are.
  EXPECT_DOUBLE_EQ(ConstraintCost(Crowded(), SpreadSpec{.scope = "server", .least = 9}), 2);
}

TEST(SpecCostTest, AffinityCountsMissingObjects) {
  AffinitySpec spec{.scope = "region", .domain = {}, .objects = 2, .objects_of_group = {}};
  spec.domain.push_back(DomainId(1));
  EXPECT_DOUBLE_EQ(ConstraintCost(Crowded(), spec), 2);
  EXPECT_DOUBLE_EQ(CostAfter(Crowded(), spec, {{0, 2}}), 1);
  EXPECT_DOUBLE_EQ(CostAfter(Crowded(), spec, {{0, 2}, {1, 2}, {2, 2}}), 0);
  spec.weight_of_group.push_back(3);
  EXPECT_DOUBLE_EQ(ConstraintCost(Crowded(), spec), 6);
  EXPECT_DOUBLE_EQ(CostAfter(Crowded(), spec, {{0, 2}}), 3);
}

TEST(SpecCostTest, DependencyCountsPairsThatLackTheOther) {
  const Problem p = SmallFleet()
                        .Server(100, 0, 0)
                        .Server(100, 1, 1)
                        .Group({{{1}, 0}, {{1}, 1}})
                        .Group({{{1}, 0}})
                        .Make();
  DependencySpec spec{.scope = "region", .needed = {}};
  spec.needed.push_back({GroupId(1)});
  spec.needed.push_back({});
  EXPECT_DOUBLE_EQ(ConstraintCost(p, spec), 1);
}

TEST(SpecCostTest, DrainCountsWhatIsThere) {
  EXPECT_DOUBLE_EQ(ConstraintCost(Crowded(), DrainSpec{.containers = {ContainerId(0)}}), 3);
}

TEST(SpecCostTest, PinAndAvoidCountObjectsInTheWrongPlace) {
  const PinSpec pin{.scope = "rack", .domains = {{0, {DomainId(1)}}, {3, {DomainId(0)}}}};
  EXPECT_DOUBLE_EQ(ConstraintCost(Crowded(), pin), 1);
  PinSpec avoid = pin;
  avoid.avoid = true;
  EXPECT_DOUBLE_EQ(ConstraintCost(Crowded(), avoid), 1);
}

TEST(SpecCostTest, MoveLimitCountsEachMoveTooMany) {
  const std::vector<std::pair<int, int>> moves = {{0, 2}, {1, 2}, {2, 1}};
  EXPECT_DOUBLE_EQ(CostAfter(Crowded(), MoveLimitSpec{.total = 1}, moves), 2);
  // Server 0 lost three, server 2 gained two.
  EXPECT_DOUBLE_EQ(CostAfter(Crowded(), MoveLimitSpec{.per_container = 1}, moves), 2 + 1);
  EXPECT_DOUBLE_EQ(CostAfter(Crowded(), MoveLimitSpec{.per_group = 2}, moves), 1);
}

TEST(SpecCostTest, GroupMoveCountsTheGroupThatMovesMost) {
  const Problem p =
      SmallFleet().Server(100).Server(100).Group({{{1}, 0}, {{1}, 0}}).Group({{{1}, 0}}).Make();
  EXPECT_DOUBLE_EQ(CostAfter(p, GroupMoveSpec{}, {{0, 1}, {1, 1}, {2, 1}}), 2);
}

TEST(SpecCostTest, MoveDistanceCountsByStartAndEnd) {
  const Problem p = SmallFleet().Server(9).Server(9).Objects({{{1}, 0}, {{1}, 1}}).Make();
  const auto cost = std::make_shared<std::vector<int32_t>>(std::vector<int32_t>{0, 7, 3, 0});
  EXPECT_DOUBLE_EQ(CostAfter(p, MoveDistanceSpec{.cost = cost}, {{0, 1}}), 7);
  EXPECT_DOUBLE_EQ(CostAfter(p, MoveDistanceSpec{.cost = cost}, {{1, 0}}), 3);
}

double MovementAfter(const Model& model, const std::vector<std::pair<int, int>>& moves) {
  State state(model);
  for (const auto& [object, to] : moves) {
    state.Move(ObjectId(static_cast<size_t>(object)), ContainerId(static_cast<size_t>(to)));
  }
  return state.Total()[kMovementLevel];
}

TEST(SpecCostTest, TradingPlacesWithinAGroupMovesNoData) {
  const Problem p = SmallFleet()
                        .Server(9)
                        .Server(9)
                        .Server(9)
                        .Group({{{1}, 0}, {{1}, 1}})
                        .Objects({{{1}, kNowhere}})
                        .Make();
  const Model model(p);
  EXPECT_DOUBLE_EQ(MovementAfter(model, {{0, 2}}), 1);
  EXPECT_DOUBLE_EQ(MovementAfter(model, {{0, 1}, {1, 0}}), 0.2);
  // What starts nowhere has to be put somewhere in any case.
  EXPECT_DOUBLE_EQ(MovementAfter(model, {{2, 0}}), 0);
}

TEST(SpecCostTest, MoveCostIsTheObjectsOwn) {
  const Problem p = SmallFleet().Server(9).Server(9).Objects({{{1}, 0}, {{1}, 0}}).Make();
  Model model(p);
  MoveCostSpec spec;
  spec.cost.push_back(2);
  spec.cost.push_back(5);
  ASSERT_TRUE(model.AddGoal(spec, {.priority = 7, .weight = 10}).ok());
  State state(model);
  state.Move(ObjectId(1), ContainerId(1));
  EXPECT_DOUBLE_EQ(state.Total()[GoalLevel(7)], 50);
}

}  // namespace
}  // namespace shardmanager::solver
