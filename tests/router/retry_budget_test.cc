#include "router/retry_budget.h"

#include <gtest/gtest.h>

namespace shardmanager::router {
namespace {

constexpr TimePoint At(int64_t ms) { return TimePoint(Milliseconds(ms)); }

int TakeAll(RetryBudget& budget, TimePoint now) {
  int taken = 0;
  while (taken < 10'000 && budget.Take(now)) ++taken;
  return taken;
}

TEST(RetryBudgetTest, ASpentBudgetGrowsWithTheCalls) {
  RetryBudget budget(0.2);
  EXPECT_EQ(TakeAll(budget, At(1)), RetryBudget::kMostSaved);
  for (int i = 0; i < 50; ++i) budget.OnCall();
  EXPECT_EQ(TakeAll(budget, At(1)), 10);
}

TEST(RetryBudgetTest, AndWithTimeForClientsOfFewCalls) {
  RetryBudget budget(0);
  TakeAll(budget, At(1'000));
  EXPECT_EQ(TakeAll(budget, At(1'050)), 0);
  EXPECT_EQ(TakeAll(budget, At(1'100)), 1);
  EXPECT_EQ(TakeAll(budget, At(3'100)), 2 * RetryBudget::kEachSecond);
}

TEST(RetryBudgetTest, NoMoreThanAHundredAreSaved) {
  RetryBudget budget(1);
  for (int i = 0; i < 1'000; ++i) budget.OnCall();
  EXPECT_EQ(TakeAll(budget, At(int64_t{1} << 40)), RetryBudget::kMostSaved);
}

TEST(RetryBudgetTest, AMomentThatCameEarlierBringsNothing) {
  RetryBudget budget(0);
  TakeAll(budget, At(10'000));
  EXPECT_EQ(TakeAll(budget, At(9'000)), 0);
  EXPECT_EQ(TakeAll(budget, At(10'000)), 0);
}

}  // namespace
}  // namespace shardmanager::router
