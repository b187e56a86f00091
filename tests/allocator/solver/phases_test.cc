// What each phase of a descent is there for, where no other phase would do it.
#include <gtest/gtest.h>

#include "allocator/solver/search.h"
#include "allocator/solver/specs/all.h"
#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

ContainerId Server(size_t i) { return ContainerId(i); }

// So many servers that not every placement is tried.
SmallFleet TenServers(Amount capacity) {
  SmallFleet fleet;
  for (int i = 0; i < 10; ++i) fleet.Server(capacity);
  return fleet;
}

// Two objects of a group share server 0. At first there is room elsewhere for object 0 only, so it
// leaves. When object 2 has made room, object 1 leaves as well, and object 0 can return.
TEST(PhasesTest, BringsHomeWhatNeedNotHaveMoved) {
  const Problem p = SmallFleet()
                        .Server(100)
                        .Server(8)
                        .Server(9)
                        .Group({{{1}, 0}, {{8}, 0}})
                        .Objects({{{8}, 1}})
                        // With so many objects, no other phase looks for needless moves.
                        .Objects(std::vector<Item>(6'000, Item{{0}, 0}))
                        .Make();
  Model model(p);
  const PinSpec makes_room{.domains = {{2, {DomainId(2)}}}};
  const PinSpec leaves{.domains = {{1, {DomainId(0)}}}, .avoid = true};
  const PinSpec goes_elsewhere{.domains = {{1, {DomainId(2)}}}, .avoid = true};
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  ASSERT_TRUE(model.AddConstraint(goes_elsewhere).ok());
  ASSERT_TRUE(model.AddGoal(ExclusionSpec{}, {.priority = 1}).ok());
  ASSERT_TRUE(model.AddGoal(makes_room, {.priority = 2}).ok());
  ASSERT_TRUE(model.AddGoal(leaves, {.priority = 2}).ok());
  Search search(model, {});
  EXPECT_TRUE(search.Descend());
  EXPECT_EQ(search.Where()[ObjectId(0)], Server(0));
  EXPECT_EQ(search.Where()[ObjectId(1)], Server(1));
  EXPECT_EQ(search.Where()[ObjectId(2)], Server(2));
}

// For each of the two objects, the only better place is that of the other one.
TEST(PhasesTest, LetsObjectsOfAGroupTradePlaces) {
  SmallFleet fleet;
  fleet.Server(9).Server(9);
  // So many servers that not every placement is tried.
  for (int i = 0; i < 10; ++i) fleet.Server(9).Closed();
  const Problem p = fleet.Group({{{1}, 0}, {{1}, 1}}).Make();
  Model model(p);
  const PinSpec avoid{.domains = {{0, {DomainId(0)}}, {1, {DomainId(1)}}}, .avoid = true};
  ASSERT_TRUE(model.AddConstraint(ExclusionSpec{}).ok());
  ASSERT_TRUE(model.AddGoal(avoid, {}).ok());
  Search search(model, {});
  EXPECT_TRUE(search.Descend());
  EXPECT_EQ(search.Where()[ObjectId(0)], Server(1));
  EXPECT_EQ(search.Where()[ObjectId(1)], Server(0));
}

// If either object leaves, the other one fits. The smaller one is tried first, but costs more.
TEST(PhasesTest, MovesTheObjectThatIsCheaperToMove) {
  const Problem p = TenServers(7).Objects({{{6}, 0}, {{7}, 0}}).Make();
  Model model(p);
  MoveCostSpec moves;
  moves.cost.push_back(5);
  moves.cost.push_back(1);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  ASSERT_TRUE(model.AddGoal(moves, {}).ok());
  Search search(model, {});
  EXPECT_TRUE(search.Descend());
  EXPECT_EQ(search.BestScore()[GoalLevel(1)], 1);
  EXPECT_EQ(search.Where()[ObjectId(0)], Server(0));
}

TEST(PhasesTest, LivesWithAPinOfWhatHasNoPlace) {
  const Problem p = TenServers(9).Group({{{1}, 0}, {{50}}}).Make();
  Model model(p);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  ASSERT_TRUE(model.AddConstraint(PinSpec{.scope = "rack", .domains = {{1, {DomainId(0)}}}}).ok());
  Search search(model, {});
  EXPECT_TRUE(search.Descend());
  EXPECT_EQ(search.BestScore()[kUnplacedLevel], 1);
  EXPECT_EQ(search.Where()[ObjectId(0)], Server(0));
}

}  // namespace
}  // namespace shardmanager::solver
