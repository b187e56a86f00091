#include "taskcontroller/selection/select.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "taskcontroller/selection/bound.h"
#include "taskcontroller/selection/chosen_set.h"
#include "tests/taskcontroller/selection/problems.h"

namespace shardmanager::taskcontroller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

CandidateIndex C(size_t index) { return CandidateIndex(index); }
ShardIndex S(size_t index) { return ShardIndex(index); }
Candidate InRack(uint32_t rack) { return {.domain = {.region = 0, .datacenter = 0, .rack = rack}}; }

RandomProblem DrawSizes(Random& random) {
  return {.candidates = 1 + static_cast<uint32_t>(random.Below(12)),
          .shards = 1 + static_cast<uint32_t>(random.Below(15)),
          .most_shards_each = static_cast<uint32_t>(random.Below(6)),
          .most_room = 1 + static_cast<uint32_t>(random.Below(3)),
          .most = random.Below(3) == 0 ? static_cast<uint32_t>(random.Below(8)) : UINT32_MAX};
}

TEST(SelectTest, ChoosesAMaximumSetThatBreaksNoLimitIn10000SmallCases) {
  Random random(1);
  for (int n = 0; n < 10'000; ++n) {
    const Problem problem = Draw(DrawSizes(random), random);
    const Selection selection = Select(problem);
    ASSERT_TRUE(Fits(problem, selection.chosen)) << "case " << n;
    ASSERT_EQ(selection.chosen.size(), LargestByBruteForce(problem)) << "case " << n;
    ASSERT_TRUE(selection.proven()) << "case " << n;
  }
}

TEST(SelectTest, LocalSearchBreaksNoLimitAndRarelyMissesTheMaximumOfSmallCases) {
  Random random(2);
  int missed = 0;
  for (int n = 0; n < 2'000; ++n) {
    const Problem problem = Draw(DrawSizes(random), random);
    const Selection selection = Select(problem, {.search_steps = 20'000, .most_for_exact = 0});
    ASSERT_TRUE(Fits(problem, selection.chosen)) << "case " << n;
    const uint32_t largest = LargestByBruteForce(problem);
    ASSERT_LE(selection.chosen.size(), largest) << "case " << n;
    ASSERT_LE(largest, selection.at_most) << "the bound is no bound in case " << n;
    missed += selection.chosen.size() < largest;
  }
  EXPECT_LE(missed, 2);
}

TEST(SelectTest, TheBoundIsNeverBelowTheMaximum) {
  Random random(3);
  for (int n = 0; n < 3'000; ++n) {
    const Problem problem = Draw(DrawSizes(random), random);
    const Holders holders(problem);
    const ChosenSet none(problem, holders);
    const uint32_t largest = LargestByBruteForce(problem);
    for (const int passes : {1, 2, 5, 20}) {
      ASSERT_GE(std::min(problem.most(), MostThatCanJoin(none, 0, passes)), largest)
          << "case " << n << " with " << passes << " passes";
    }
  }
}

TEST(SelectTest, TheBoundOfThreeEqualRegionsIsNearOneRegion) {
  Random random(4);
  const Problem problem = SpreadOverRegions(300, 8'000, UINT32_MAX, random);
  const Holders holders(problem);
  const ChosenSet none(problem, holders);
  EXPECT_GE(MostThatCanJoin(none, 100, 12), 100U);
  EXPECT_LE(MostThatCanJoin(none, 100, 12), 102U);
  EXPECT_EQ(MostThatCanJoin(none, 100, 0), 300U) << "without a pass it is all that are free";
}

TEST(SelectTest, AWholeRegionGoesWhereShardsAreSpreadOverRegions) {
  Random random(5);
  const Problem problem = SpreadOverRegions(300, 8'000, UINT32_MAX, random);
  const Selection selection = Select(problem);
  EXPECT_TRUE(Fits(problem, selection.chosen));
  EXPECT_EQ(selection.chosen.size(), 100U);
}

TEST(SelectTest, RespectsTheLimitOfAll) {
  Random random(6);
  const Problem problem = SpreadOverRegions(300, 8'000, 30, random);
  const Selection selection = Select(problem);
  EXPECT_EQ(selection.chosen.size(), 30U);
  EXPECT_TRUE(selection.proven());
}

TEST(SelectTest, TenContainersOfOneRackGoBeforeTenInTenRacks) {
  Problem problem({}, 10);
  for (uint32_t i = 0; i < 100; ++i) problem.Add(InRack(i % 10), {});
  const Selection selection = Select(problem);
  std::set<uint32_t> racks;
  for (const CandidateIndex id : selection.chosen) racks.insert(problem.candidate(id).domain.rack);
  EXPECT_EQ(selection.chosen.size(), 10U);
  EXPECT_THAT(racks, ElementsAre(0U));
}

TEST(SelectTest, TheFirstOfEqualsGoesFirst) {
  Problem problem({1}, 3);
  for (int i = 0; i < 3; ++i) problem.Add(InRack(0), {S(0)});
  EXPECT_THAT(Select(problem).chosen, ElementsAre(C(0)));
}

// 0 excludes both 1 and 2, which would be a larger set.
Problem OneAgainstTwo(const Candidate& first) {
  Problem problem({1, 1}, 3);
  problem.Add(first, {S(0), S(1)});
  problem.Add({}, {S(0)});
  problem.Add({}, {S(1)});
  return problem;
}

TEST(SelectTest, TwoGoBeforeOneThatExcludesBoth) {
  EXPECT_THAT(Select(OneAgainstTwo({})).chosen, ElementsAre(C(1), C(2)));
}

TEST(SelectTest, AnUrgentOneGoesBeforeTwoThatItExcludes) {
  EXPECT_THAT(Select(OneAgainstTwo({.urgent = true})).chosen, ElementsAre(C(0)));
}

// 0 needs shards 0 and 1, of which 0 has no room now; 1 needs shard 1.
Problem BlockedFirst(const Candidate& first) {
  Problem problem({0, 1}, 2);
  problem.Add(first, {S(0), S(1)});
  problem.Add({}, {S(1)});
  return problem;
}

TEST(SelectTest, AnUrgentOneThatCannotGoNowKeepsItsRoom) {
  EXPECT_THAT(Select(BlockedFirst({.urgent = true, .reserves = true})).chosen, IsEmpty());
}

TEST(SelectTest, AnUrgentOneThatMayNeverGoStarvesNobody) {
  EXPECT_THAT(Select(BlockedFirst({.urgent = true})).chosen, ElementsAre(C(1)));
}

TEST(SelectTest, UrgentOnesAreAMaximumTogetherWithTheOthers) {
  Random random(7);
  for (int n = 0; n < 2'000; ++n) {
    RandomProblem sizes = DrawSizes(random);
    sizes.urgent = static_cast<uint32_t>(random.Below(3));
    const Problem problem = Draw(sizes, random);
    const Selection selection = Select(problem);
    ASSERT_TRUE(Fits(problem, selection.chosen)) << "case " << n;
    ASSERT_LE(selection.chosen.size(), LargestByBruteForce(problem)) << "case " << n;
    ASSERT_TRUE(selection.proven()) << "case " << n;
  }
}

TEST(SelectTest, TheSameProblemGivesTheSameAnswer) {
  Random random(8);
  const Problem problem = Draw({.candidates = 200, .shards = 300, .most_shards_each = 6}, random);
  EXPECT_EQ(Select(problem).chosen, Select(problem).chosen);
}

TEST(SelectTest, NothingToChooseFrom) {
  EXPECT_THAT(Select(Problem({1, 1}, 5)).chosen, IsEmpty());
  Problem nothing_allowed({1}, 0);
  nothing_allowed.Add({}, {S(0)});
  const Selection selection = Select(nothing_allowed);
  EXPECT_THAT(selection.chosen, IsEmpty());
  EXPECT_TRUE(selection.proven());
}

}  // namespace
}  // namespace shardmanager::taskcontroller
