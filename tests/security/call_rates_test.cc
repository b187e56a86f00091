#include "security/call_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace shardmanager::security {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr TimePoint kNow{Seconds(1'000)};

// How many of `calls` are let through.
int Taken(CallRates& rates, const std::string& who, int calls, TimePoint now) {
  int taken = 0;
  for (int i = 0; i < calls; ++i) taken += rates.Take(who, now).ok() ? 1 : 0;
  return taken;
}

TEST(CallRatesTest, ABurstOfTwoSecondsAndThenSoManyASecond) {
  CallRates rates(10);
  EXPECT_EQ(Taken(rates, "operator/alice", 100, kNow), 20);
  EXPECT_EQ(Taken(rates, "operator/alice", 100, kNow + Milliseconds(500)), 5);
  EXPECT_EQ(Taken(rates, "operator/alice", 100, kNow + Seconds(60)), 20);
}

TEST(CallRatesTest, WhoMakesTooManyTakesNothingFromOthers) {
  CallRates rates(10);
  Taken(rates, "operator/flood", 1'000, kNow);
  EXPECT_EQ(Taken(rates, "operator/alice", 20, kNow), 20);
}

TEST(CallRatesTest, ARefusalSaysWhoHowManyAndWhenAgain) {
  CallRates rates(10);
  Taken(rates, "operator/alice", 20, kNow);
  const absl::Status refused = rates.Take("operator/alice", kNow);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("operator/alice makes more than 10 calls a second"),
                    HasSubstr("again in 100 ms")));
}

TEST(CallRatesTest, NoLimitIsNone) {
  CallRates rates(0);
  EXPECT_EQ(Taken(rates, "operator/alice", 1'000, kNow), 1'000);
}

TEST(CallRatesTest, ThoseWhoCallNoMoreAreForgotten) {
  CallRates rates(10);
  for (int i = 0; i < 1'000; ++i) Taken(rates, absl::StrCat("operator/", i), 1, kNow);
  EXPECT_EQ(rates.size(), 1'000u);
  Taken(rates, "operator/alice", 1, kNow + Seconds(20));
  EXPECT_EQ(rates.size(), 1u);
}

// A clock that goes back is one that stands.
TEST(CallRatesTest, NothingIsGainedByAClockThatGoesBack) {
  CallRates rates(10);
  EXPECT_EQ(Taken(rates, "operator/alice", 100, kNow), 20);
  EXPECT_EQ(Taken(rates, "operator/alice", 100, kNow - Seconds(5)), 0);
}

}  // namespace
}  // namespace shardmanager::security
