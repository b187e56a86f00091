#include "taskcontroller/selection/exact.h"

#include <gtest/gtest.h>

#include "taskcontroller/selection/order.h"
#include "tests/taskcontroller/selection/problems.h"

namespace shardmanager::taskcontroller {
namespace {

ExactSearch::Limits Unlimited() { return {.known = 0, .most = UINT32_MAX, .steps = 1'000'000}; }

TEST(ExactSearchTest, FindsTheMaximumAndLeavesTheSetAsItWas) {
  Random random(1);
  for (int n = 0; n < 1'000; ++n) {
    const Problem problem = Draw({.candidates = 12, .shards = 10}, random);
    const Holders holders(problem);
    ChosenSet set(problem, holders);
    const size_t free = set.free().size();
    const auto order = DomainByDomain(problem);
    ExactSearch search(set, order, Unlimited());
    ASSERT_TRUE(search.Run());
    ASSERT_EQ(search.best().size(), LargestByBruteForce(problem)) << "case " << n;
    ASSERT_EQ(set.size(), 0U);
    ASSERT_EQ(set.free().size(), free);
  }
}

TEST(ExactSearchTest, SaysWhenItRanOutOfSteps) {
  Random random(2);
  const Problem problem =
      Draw({.candidates = 60, .shards = 60, .most_shards_each = 5, .most_room = 1}, random);
  const Holders holders(problem);
  ChosenSet set(problem, holders);
  const auto order = DomainByDomain(problem);
  ExactSearch search(set, order, {.known = 0, .most = UINT32_MAX, .steps = 100});
  EXPECT_FALSE(search.Run());
  EXPECT_TRUE(Fits(problem, search.best()));
}

TEST(ExactSearchTest, FindsNothingIfTheKnownSetIsAMaximum) {
  Random random(3);
  const Problem problem = Draw({.candidates = 12, .shards = 10}, random);
  const Holders holders(problem);
  ChosenSet set(problem, holders);
  const auto order = DomainByDomain(problem);
  ExactSearch search(
      set, order, {.known = LargestByBruteForce(problem), .most = UINT32_MAX, .steps = 1'000'000});
  EXPECT_TRUE(search.Run());
  EXPECT_TRUE(search.best().empty());
}

}  // namespace
}  // namespace shardmanager::taskcontroller
