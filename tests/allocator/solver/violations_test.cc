// What is still broken, and what would help.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allocator/solver/explain.h"
#include "allocator/solver/specs/all.h"
#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

// Of the problem as it starts, which breaks this one constraint.
template <typename Spec>
Violation OnlyViolation(const Problem& problem, const Spec& spec) {
  Model model(problem);
  const absl::Status added = model.AddConstraint(spec);
  EXPECT_TRUE(added.ok()) << added;
  State state(model);
  const auto violations = ListViolations(state);
  EXPECT_EQ(violations.size(), 1u);
  return violations.empty() ? Violation() : violations[0];
}

TEST(ViolationsTest, NameTheServerThatIsNotEmptyYet) {
  const Problem p = SmallFleet().Server(9).Server(9).Objects({{{1}, 0}, {{1}, 0}, {{1}, 1}}).Make();
  const Violation v = OnlyViolation(p, DrainSpec{.containers = {ContainerId(0)}});
  EXPECT_EQ(v.rule, "drain");
  EXPECT_EQ(v.level, kConstraintLevel);
  EXPECT_EQ(v.amount, 2);
  EXPECT_EQ(v.places, 1u);
  EXPECT_EQ(v.worst, "server 0");
}

TEST(ViolationsTest, NameTheGroupThatStandsTooClose) {
  const Problem p = SmallFleet()
                        .Server(9)
                        .Server(9)
                        .Group({{{1}, 0}, {{1}, 1}})
                        .Group({{{1}, 0}, {{1}, 0}, {{1}, 0}})
                        .Make();
  const Violation v = OnlyViolation(p, ExclusionSpec{});
  EXPECT_EQ(v.rule, "exclusion(server)");
  EXPECT_EQ(v.amount, 2);
  EXPECT_EQ(v.places, 1u);
  EXPECT_EQ(v.worst, "group 1");
  EXPECT_EQ(v.help, "there are 2 domains to choose from: more of them, or more room in them");
  EXPECT_THAT(v.objects, ElementsAre(ObjectId(2)));
}

TEST(ViolationsTest, NameTheOneThatPaysMost) {
  const Problem p = SmallFleet()
                        .Server(9)
                        .Server(9)
                        .Server(9)
                        .Group({{{1}, 0}, {{1}, 0}})
                        .Group({{{1}, 1}, {{1}, 1}, {{1}, 1}})
                        .Group({{{1}, 2}, {{1}, 2}})
                        .Make();
  EXPECT_EQ(OnlyViolation(p, ExclusionSpec{}).worst, "group 1");
  const auto all = {ContainerId(0), ContainerId(1), ContainerId(2)};
  EXPECT_EQ(OnlyViolation(p, DrainSpec{.containers = all}).worst, "server 1");
}

TEST(ViolationsTest, SayThatThereIsTooLittleInAll) {
  const Problem p = SmallFleet().Server(10).Server(10).Objects({{{12}, 0}, {{18}, 1}}).Make();
  const Violation v = OnlyViolation(p, CapacitySpec{.metric = "cpu"});
  EXPECT_EQ(v.help, "all together are 50.0% above their limits of cpu: add capacity");
  EXPECT_EQ(v.places, 2u);
  EXPECT_EQ(v.worst, "server 1");
  EXPECT_THAT(v.objects, ElementsAre(ObjectId(1)));
}

TEST(ViolationsTest, SayThatAnObjectIsLargerThanAnyLimit) {
  const Problem p = SmallFleet().Server(10).Server(10).Objects({{{15}, 0}, {{1}, 1}}).Make();
  const Violation v = OnlyViolation(p, CapacitySpec{.metric = "cpu"});
  EXPECT_EQ(v.help, "one object needs more cpu than any limit allows: split it");
}

TEST(ViolationsTest, SayThatThereIsRoomElsewhere) {
  const Problem p = SmallFleet().Server(10).Server(10).Objects({{{10}, 0}, {{1}, 0}}).Make();
  const Violation v = OnlyViolation(p, CapacitySpec{.metric = "cpu"});
  EXPECT_THAT(v.help, StartsWith("there is room in all, but no place was found"));
}

TEST(ViolationsTest, TellLimitsForMovesInFlightFromOthers) {
  const Problem p = SmallFleet().Server(10).Objects({{{12}, 0}}).Make();
  EXPECT_EQ(OnlyViolation(p, CapacitySpec{.metric = "cpu"}).rule, "capacity(server, cpu)");
  EXPECT_EQ(OnlyViolation(p, CapacitySpec{.metric = "cpu", .transient = true}).rule,
            "transient capacity(server, cpu)");
}

}  // namespace
}  // namespace shardmanager::solver
