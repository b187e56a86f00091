#include "discovery/reconnect_policy.h"

#include <gtest/gtest.h>

namespace shardmanager::discovery {
namespace {

constexpr ReconnectPolicy::Limits kLimits{Milliseconds(100), Milliseconds(1'000)};

TEST(ReconnectPolicyTest, TakesEndpointsInTurn) {
  ReconnectPolicy policy(3, kLimits, 1);
  EXPECT_EQ(policy.endpoint(), 0u);
  for (size_t expected : {1u, 2u, 0u, 1u}) EXPECT_EQ(policy.OnFailure().endpoint, expected);
}

TEST(ReconnectPolicyTest, WaitsTwiceAsLongEachRoundUpToTheLimit) {
  ReconnectPolicy policy(2, kLimits, 1);
  for (int64_t full : {100, 100, 200, 200, 400, 400, 800, 800, 1'000, 1'000, 1'000}) {
    const Duration delay = policy.OnFailure().delay;
    EXPECT_GE(delay, Milliseconds(full) / 2);
    EXPECT_LE(delay, Milliseconds(full));
  }
}

TEST(ReconnectPolicyTest, AUsefulConnectionStartsTheBackoffAfresh) {
  ReconnectPolicy policy(1, kLimits, 1);
  for (int i = 0; i < 100; ++i) policy.OnFailure();
  policy.OnUseful();
  EXPECT_LE(policy.OnFailure().delay, Milliseconds(100));
}

TEST(ReconnectPolicyTest, TriesAgainWithinHalfASecondUnlessToldOtherwise) {
  ReconnectPolicy policy(1, {}, 1);
  for (int i = 0; i < 100; ++i) EXPECT_LE(policy.OnFailure().delay, Milliseconds(500));
}

TEST(ReconnectPolicyTest, TriesEachOtherEndpointOnceWhenAllAreStaleThenStaysForOneHeartbeat) {
  ReconnectPolicy policy(3, kLimits, 1);
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(policy.OnStale());
    EXPECT_TRUE(policy.OnStale());
    EXPECT_FALSE(policy.OnStale());
  }
  policy.OnStale();
  policy.OnUseful();
  EXPECT_TRUE(policy.OnStale());
  EXPECT_TRUE(policy.OnStale());
  ReconnectPolicy only(1, kLimits, 1);
  EXPECT_FALSE(only.OnStale());
}

TEST(ReconnectPolicyTest, SubscribersDoNotComeBackInStep) {
  ReconnectPolicy one(1, kLimits, 1);
  ReconnectPolicy other(1, kLimits, 2);
  EXPECT_NE(one.OnFailure().delay, other.OnFailure().delay);
}

}  // namespace
}  // namespace shardmanager::discovery
