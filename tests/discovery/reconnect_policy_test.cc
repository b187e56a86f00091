#include "discovery/reconnect_policy.h"

#include <gtest/gtest.h>

#include <map>

namespace shardmanager::discovery {
namespace {

constexpr ReconnectPolicy::Limits kLimits{Milliseconds(100), Milliseconds(1'000), Seconds(4)};

TEST(ReconnectPolicyTest, TakesEndpointsInTurn) {
  ReconnectPolicy policy(3, kLimits, 1);
  EXPECT_EQ(policy.endpoint(), 0u);
  for (size_t expected : {1u, 2u, 0u, 1u})
    EXPECT_EQ(policy.OnFailure(/*has_map=*/false).endpoint, expected);
}

TEST(ReconnectPolicyTest, WaitsTwiceAsLongEachRoundUpToTheLimit) {
  ReconnectPolicy policy(2, kLimits, 1);
  for (int64_t full : {100, 100, 200, 200, 400, 400, 800, 800, 1'000, 1'000, 1'000}) {
    const Duration delay = policy.OnFailure(/*has_map=*/false).delay;
    EXPECT_GE(delay, Milliseconds(full) / 2);
    EXPECT_LE(delay, Milliseconds(full));
  }
}

TEST(ReconnectPolicyTest, AUsefulConnectionStartsTheBackoffAfresh) {
  ReconnectPolicy policy(1, kLimits, 1);
  for (int i = 0; i < 100; ++i) policy.OnFailure(/*has_map=*/false);
  policy.OnUseful();
  EXPECT_LE(policy.OnFailure(/*has_map=*/false).delay, Milliseconds(100));
}

TEST(ReconnectPolicyTest, TriesAgainWithinHalfASecondUnlessToldOtherwise) {
  ReconnectPolicy policy(1, {}, 1);
  for (int i = 0; i < 100; ++i)
    EXPECT_LE(policy.OnFailure(/*has_map=*/false).delay, Milliseconds(500));
}

TEST(ReconnectPolicyTest, ASubscriberThatHasAMapLeavesAPublisherThatIsAwayMoreTime) {
  ReconnectPolicy policy(1, {}, 1);
  Duration delay{};
  for (int i = 0; i < 100; ++i) delay = policy.OnFailure(/*has_map=*/true).delay;
  EXPECT_GE(delay, Seconds(2));
  EXPECT_LE(delay, Seconds(4));
  EXPECT_LE(policy.OnFailure(/*has_map=*/false).delay, Milliseconds(500)) << "it lost its map";
  policy.OnUseful();
  EXPECT_LE(policy.OnFailure(/*has_map=*/true).delay, Milliseconds(100));
}

// 2,000 subscribers whose publisher is away: when it is back they come over two seconds.
TEST(ReconnectPolicyTest, SubscribersThatHaveAMapComeBackSpreadOverSeconds) {
  std::map<int64_t, int> by_tenth;
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    ReconnectPolicy policy(1, {}, seed);
    Duration delay{};
    for (int i = 0; i < 10; ++i) delay = policy.OnFailure(/*has_map=*/true).delay;
    ++by_tenth[delay / Milliseconds(100)];
  }
  for (const auto& [tenth, count] : by_tenth) EXPECT_LE(count, 200) << "at " << tenth;
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
  EXPECT_NE(one.OnFailure(/*has_map=*/false).delay, other.OnFailure(/*has_map=*/false).delay);
}

}  // namespace
}  // namespace shardmanager::discovery
