// Specs of other people's placement problems: what they cost, worked out by hand, and that a search
// does something about it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "allocator/solver/explain.h"
#include "allocator/solver/specs/all.h"
#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

using ::testing::HasSubstr;

constexpr int kGoal = GoalLevel(1);

template <typename Spec>
double CostAsGoal(const Problem& p, const Spec& spec) {
  Model model(p);
  const absl::Status s = model.AddGoal(spec, {});
  EXPECT_TRUE(s.ok()) << s;
  return CostOf(model)[kGoal];
}

template <typename Spec>
std::string Refusal(const Problem& p, const Spec& spec) {
  Model model(p);
  return std::string(model.AddGoal(spec, {}).message());
}

// --- least load ------------------------------------------------------------------------

TEST(LeastLoadTest, CountsWhatIsMissingAsAPartOfTheAverageCapacity) {
  const Problem p =
      SmallFleet().Server(10).Server(10).Server(10).Closed().Objects({{{6}, 0}, {{1}, 0}}).Make();
  EXPECT_NEAR(CostAsGoal(p, LeastLoadSpec{.metric = "cpu", .least = 0.5}), 0.5, 1e-9);
}

TEST(LeastLoadTest, ADescentBringsLoadToWhereItIsMissing) {
  const Problem p = SmallFleet()
                        .Server(10)
                        .Server(10)
                        .Server(10)
                        .Objects({{{3}, 0}, {{3}, 0}, {{3}, 1}, {{3}, 1}})
                        .Make();
  Model model(p);
  ASSERT_TRUE(model.AddConstraint(LeastLoadSpec{.metric = "cpu", .least = 0.3}).ok());
  Search search(model, {});
  EXPECT_GT(search.BestScore()[kConstraintLevel], 0);
  search.Descend();
  EXPECT_LE(search.BestScore()[kConstraintLevel], kTolerance);
  EXPECT_EQ(search.Moves(), 1u);
}

TEST(LeastLoadTest, SaysWhereLoadIsMissingAndIfThereIsEnough) {
  const auto said = [](Load load) {
    const Problem p = SmallFleet().Server(10).Server(10).Objects({{{load}, 0}, {{4}, 0}}).Make();
    Model model(p);
    EXPECT_TRUE(model.AddConstraint(LeastLoadSpec{.metric = "cpu", .least = 0.4}).ok());
    State state(model);
    const auto violations = ListViolations(state);
    EXPECT_EQ(violations.size(), 1u);
    EXPECT_EQ(violations[0].places, 1u);
    EXPECT_EQ(violations[0].worst, "server 1");
    return violations[0].help;
  };
  EXPECT_THAT(said(3), HasSubstr("not so much load in all"));
  EXPECT_THAT(said(4), HasSubstr("load enough in all"));
}

// 3.5 units are wanted; there is no half of one.
TEST(LeastLoadTest, IsRoundedUpToWholeUnits) {
  const Problem p = SmallFleet().Server(10).Objects({{{3}, 0}}).Make();
  EXPECT_NEAR(CostAsGoal(p, LeastLoadSpec{.metric = "cpu", .least = 0.35}), 0.1, 1e-9);
  EXPECT_NEAR(CostAsGoal(p, LeastLoadSpec{.metric = "cpu", .least = 0.3}), 0, 1e-9);
}

TEST(LeastLoadTest, RefusesServersWithoutACapacity) {
  const Problem p = SmallFleet().Server(10).Server(kUnlimited).Make();
  EXPECT_THAT(Refusal(p, LeastLoadSpec{.metric = "cpu", .least = 0.5}),
              HasSubstr("server 1 without a limit of cpu; allowed: a capacity of every server"));
  EXPECT_THAT(Refusal(p, LeastLoadSpec{.metric = "cpu", .least = 1.5}),
              HasSubstr("least_load.least"));
}

// --- in use ------------------------------------------------------------------------------

TEST(InUseTest, CountsServersOnWhichAnythingStands) {
  const Problem p =
      SmallFleet().Server(9).Server(9).Server(9).Objects({{{1}, 0}, {{1}, 0}, {{1}, 2}}).Make();
  EXPECT_EQ(CostAsGoal(p, InUseSpec{}), 2);
  InUseSpec priced;
  for (double cost : {1.5, 10.0, 4.0}) priced.cost.push_back(cost);
  EXPECT_EQ(CostAsGoal(p, priced), 5.5);
}

// Twenty servers with three objects each; five servers can hold all of them. No single move helps.
TEST(InUseTest, ADescentEmptiesWholeServers) {
  SmallFleet fleet;
  for (int i = 0; i < 20; ++i) fleet.Server(12);
  for (int i = 0; i < 20; ++i) fleet.Objects(std::vector<Item>(3, Item{{1}, i}));
  const Problem p = fleet.Make();
  Model model(p);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  ASSERT_TRUE(model.AddGoal(InUseSpec{}, {}).ok());
  Search search(model, {});
  search.Descend();
  EXPECT_EQ(search.BestScore()[kConstraintLevel], 0);
  EXPECT_EQ(search.BestScore()[kGoal], 5);
}

// Servers in use that cost more are emptied before others.
TEST(InUseTest, ADescentEmptiesTheDearestFirst) {
  SmallFleet fleet;
  for (int i = 0; i < 4; ++i) fleet.Server(2).Objects({{{1}, i}});
  const Problem p = fleet.Make();
  Model model(p);
  InUseSpec spec;
  for (double cost : {1.0, 7.0, 2.0, 8.0}) spec.cost.push_back(cost);
  ASSERT_TRUE(model.AddConstraint(CapacitySpec{.metric = "cpu"}).ok());
  ASSERT_TRUE(model.AddGoal(spec, {}).ok());
  Search search(model, {});
  search.Descend();
  EXPECT_EQ(search.BestScore()[kGoal], 3);
  EXPECT_EQ(search.Moves(), 2u);
}

TEST(InUseTest, RefusesCostsThatAreNone) {
  const Problem p = SmallFleet().Server(9).Make();
  InUseSpec spec;
  spec.cost.push_back(-1);
  EXPECT_THAT(Refusal(p, spec), HasSubstr("in_use.cost: found -1; allowed: 0 to 1e9"));
  spec.cost.push_back(1);
  EXPECT_THAT(Refusal(p, spec), HasSubstr("found 2 entries; allowed: 1"));
}

// --- company -------------------------------------------------------------------------------

CompanySpec Company(uint32_t most) {
  return {.limits = {{.group = GroupId(0), .with = GroupId(1), .most = most}}};
}

// Group 0 is on servers 0 and 1; group 1 has two objects on server 0, one on 1 and one on 2.
Problem TwoGroups() {
  return SmallFleet()
      .Server(9)
      .Server(9)
      .Server(9)
      .Group({{{1}, 0}, {{1}, 1}, {{1}, 1}})
      .Group({{{1}, 0}, {{1}, 0}, {{1}, 1}, {{1}, 2}})
      .Make();
}

TEST(CompanyTest, CountsWhatIsAboveTheLimitWhereTheOtherGroupIs) {
  const Problem p = TwoGroups();
  EXPECT_EQ(CostAsGoal(p, Company(0)), 3);
  EXPECT_EQ(CostAsGoal(p, Company(1)), 1);
  EXPECT_EQ(CostAsGoal(p, Company(2)), 0);
}

TEST(CompanyTest, ADescentSeparatesThem) {
  const Problem p = TwoGroups();
  Model model(p);
  ASSERT_TRUE(model.AddConstraint(Company(0)).ok());
  Search search(model, {});
  search.Descend();
  EXPECT_EQ(search.BestScore()[kConstraintLevel], 0);
}

// The first of a group pays for all of the other one; those that follow it pay no more.
TEST(CompanyTest, TheFirstObjectInADomainPaysForAllOthersThere) {
  const Problem p = SmallFleet()
                        .Server(9)
                        .Group({{{1}, kNowhere}, {{1}, kNowhere}})
                        .Group({{{1}, 0}, {{1}, 0}, {{1}, 0}})
                        .Make();
  Model model(p);
  ASSERT_TRUE(model.AddGoal(Company(1), {}).ok());
  State state(model);
  EXPECT_EQ(state.Arrival(ObjectId(0), ContainerId(0))[kGoal], 2);
  state.Put(ObjectId(0), ContainerId(0), ContainerId());
  EXPECT_EQ(state.Arrival(ObjectId(1), ContainerId(0))[kGoal], 0);
  EXPECT_EQ(state.Total()[kGoal], 2);
}

TEST(CompanyTest, SaysWhereItIsBrokenAndByWhom) {
  const Problem p = TwoGroups();
  Model model(p);
  ASSERT_TRUE(model.AddConstraint(Company(0)).ok());
  State state(model);
  const auto violations = ListViolations(state);
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].rule, "company(server)");
  EXPECT_EQ(violations[0].amount, 3);
  EXPECT_EQ(violations[0].places, 2u);
  EXPECT_EQ(violations[0].worst, "server 0");
  EXPECT_EQ(violations[0].objects, (std::vector<ObjectId>{ObjectId(0), ObjectId(3), ObjectId(4)}));
}

TEST(CompanyTest, RefusesGroupsThatAreNotThere) {
  const Problem p = TwoGroups();
  CompanySpec spec = Company(0);
  spec.limits[0].with = GroupId(2);
  EXPECT_THAT(Refusal(p, spec), HasSubstr("company.limits: found group 2; allowed: below 2"));
  spec.limits[0].with = GroupId(0);
  EXPECT_THAT(Refusal(p, spec), HasSubstr("found group 0 beside itself"));
}

}  // namespace
}  // namespace shardmanager::solver
