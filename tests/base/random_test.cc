#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace shardmanager {
namespace {

// Published outputs of SplitMix64 for this seed: https://prng.di.unimi.it/splitmix64.c
TEST(RandomTest, GivesTheNumbersOfSplitMix64) {
  Random random(1234567);
  for (uint64_t expected : {6457827717110365317ull, 3203168211198807973ull, 9817491932198370423ull,
                            4593380528125082431ull, 16408922859458223821ull}) {
    EXPECT_EQ(random.Next(), expected);
  }
}

TEST(RandomTest, StaysBelowTheBoundAndReachesEveryValue) {
  Random random(1);
  std::array<int, 6> seen{};
  for (int i = 0; i < 6'000; ++i) {
    const uint64_t face = random.Below(6);
    ASSERT_LT(face, 6u);
    ++seen[face];
  }
  for (int count : seen) EXPECT_NEAR(count, 1'000, 150);
}

TEST(RandomTest, BelowOneIsZero) { EXPECT_EQ(Random(7).Below(1), 0u); }

TEST(RandomTest, FractionsLieBetweenZeroAndOneAndAverageAHalf) {
  Random random(2);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double fraction = random.Fraction();
    ASSERT_GE(fraction, 0.0);
    ASSERT_LT(fraction, 1.0);
    sum += fraction;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

}  // namespace
}  // namespace shardmanager
