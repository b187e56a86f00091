// What the annealer is not allowed to do, and what leaving costs. (What changes cost by rules:
// solver_rules_test.cc.)
#include "allocator/solver/anneal/change_meter.h"

#include <gtest/gtest.h>

#include "allocator/solver/specs/all.h"
#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

constexpr double kForbidden = ChangeMeter::kForbidden;

TEST(ChangeMeterTest, ForbidsWhatBreaksAConstraintOfAServerOrOfAnObject) {
  // Server 1 is closed, server 2 must be empty, and object 0 must not go to server 3.
  const Problem p = SmallFleet()
                        .Server(9)
                        .Server(9)
                        .Closed()
                        .Server(9)
                        .Server(9)
                        .Objects({{{1}, 0}, {{1}, 2}})
                        .Make();
  Model model(p);
  const PinSpec avoid{.domains = {{0, {DomainId(3)}}}, .avoid = true};
  ASSERT_TRUE(model.AddConstraint(DrainSpec{.containers = {ContainerId(2)}}).ok());
  ASSERT_TRUE(model.AddConstraint(avoid).ok());
  State state(model);
  const ChangeMeter meter(state, LevelWeights{}, /*scale=*/1);
  EXPECT_EQ(meter.OfMove(ObjectId(0), ContainerId(1), kForbidden), kForbidden);
  EXPECT_EQ(meter.OfMove(ObjectId(0), ContainerId(2), kForbidden), kForbidden);
  EXPECT_EQ(meter.OfMove(ObjectId(0), ContainerId(3), kForbidden), kForbidden);
  EXPECT_EQ(meter.OfSwap(ObjectId(0), ObjectId(1), kForbidden), kForbidden);
  EXPECT_EQ(meter.OfMove(ObjectId(1), ContainerId(0), kForbidden), 0);
  EXPECT_EQ(meter.OfMove(ObjectId(1), ContainerId(3), kForbidden), 0);
}

TEST(ChangeMeterTest, EachObjectPaysItsOwnForLeavingItsStart) {
  const Problem p = SmallFleet().Server(9).Server(9).Objects({{{1}, 0}, {{1}, 0}}).Make();
  Model model(p);
  MoveCostSpec own{.cost = {}, .within_group = 1};
  own.cost.push_back(2);
  own.cost.push_back(5);
  ASSERT_TRUE(model.AddGoal(own, {.priority = 1}).ok());
  State state(model);
  LevelWeights weights{};
  weights[GoalLevel(1)] = 1;
  const ChangeMeter meter(state, weights, /*scale=*/1);
  EXPECT_EQ(meter.OfMove(ObjectId(0), ContainerId(1), kForbidden), 2);
  EXPECT_EQ(meter.OfMove(ObjectId(1), ContainerId(1), kForbidden), 5);
}

}  // namespace
}  // namespace shardmanager::solver
