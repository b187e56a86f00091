// Counting requests by key and by time, in bounded memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "model/traffic/key_spread.h"
#include "model/traffic/request_times.h"
#include "model/traffic/space_saving.h"

namespace shardmanager {
namespace {

TEST(SpaceSavingTest, CountsExactlyWhatFits) {
  SpaceSaving sketch(4);
  for (const char* key : {"a", "b", "a", "c", "a", "b"}) sketch.Add(key, "s");
  const auto top = sketch.Top(10);
  ASSERT_EQ(top.size(), 3U);
  EXPECT_EQ(top[0].key, "a");
  EXPECT_EQ(top[0].count, 3U);
  EXPECT_EQ(top[1].key, "b");
  EXPECT_EQ(top[2].key, "c");
  for (const auto& entry : top) EXPECT_EQ(entry.error, 0U);
  EXPECT_EQ(sketch.Top(1).size(), 1U);
  EXPECT_EQ(sketch.total(), 6U);
}

TEST(SpaceSavingTest, NamesTheShardThatHasTheKeyNow) {
  SpaceSaving sketch(2);
  sketch.Add("a", "old");
  sketch.Add("a", "new");
  EXPECT_EQ(sketch.Top(1)[0].shard, "new");
}

// Against exact counts, over streams that are skewed and not, and orders that are bad for it.
TEST(SpaceSavingTest, KeepsItsPromisesWhateverComes) {
  constexpr size_t kEntries = 32;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    SpaceSaving sketch(kEntries);
    std::map<std::string, uint64_t> exact;
    const uint64_t keys = seed % 2 == 0 ? 1'000 : 60;
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t any = random.Below(keys);
      const std::string key = absl::StrCat(seed < 10 ? any * any / keys : any);
      ++exact[key];
      sketch.Add(key, "s");
    }
    const uint64_t bound = sketch.total() / kEntries;
    const auto top = sketch.Top(kEntries);
    std::map<std::string, uint64_t> found;
    for (const auto& entry : top) {
      EXPECT_GE(entry.count, exact[entry.key]);
      EXPECT_LE(entry.count - entry.error, exact[entry.key]);
      EXPECT_LE(entry.error, bound);
      found[entry.key] = entry.count;
    }
    for (const auto& [key, count] : exact) {
      if (count > bound) {
        EXPECT_TRUE(found.contains(key)) << key << " of seed " << seed;
      }
    }
  }
}

TEST(SpaceSavingTest, BeginsAnew) {
  SpaceSaving sketch(2);
  sketch.Add("a", "s");
  sketch.Clear();
  EXPECT_EQ(sketch.total(), 0U);
  EXPECT_TRUE(sketch.Top(2).empty());
  sketch.Add("b", "s");
  EXPECT_EQ(sketch.Top(2)[0].key, "b");
}

TEST(KeySpreadTest, EntropyIsHighestWhereAllPartsAreAskedForAlike) {
  std::array<double, kHashParts> counts{};
  counts.fill(100);
  EXPECT_NEAR(*EntropyBits(counts), kMostEntropyBits, 0.01);
  counts.fill(0);
  counts[7] = 10'000;
  EXPECT_EQ(*EntropyBits(counts), 0);
  counts[8] = 10'000;
  EXPECT_NEAR(*EntropyBits(counts), 1, 0.001);
}

TEST(KeySpreadTest, OneHotKeyLowersTheEntropy) {
  std::array<double, kHashParts> counts{};
  counts.fill(100);
  counts[0] += 6'400;  // half of all requests
  EXPECT_NEAR(*EntropyBits(counts), 4, 0.15);
}

TEST(KeySpreadTest, EntropyOfFewRequestsIsNotKnown) {
  std::array<double, kHashParts> counts{};
  counts[0] = kLeastForEntropy - 1;
  EXPECT_EQ(EntropyBits(counts), std::nullopt);
}

// Without the correction it would be lower by 63 / 2n nats: 0.07 bits.
TEST(KeySpreadTest, ASmallSampleOfEvenKeysIsNotTakenForSkew) {
  double sum = 0;
  constexpr int kTimes = 200;
  for (int i = 0; i < kTimes; ++i) {
    Random random(static_cast<uint64_t>(i));
    std::array<double, kHashParts> counts{};
    for (int n = 0; n < kLeastForEntropy; ++n) ++counts[random.Below(kHashParts)];
    sum += *EntropyBits(counts);
  }
  EXPECT_NEAR(sum / kTimes, kMostEntropyBits, 0.02);
}

TEST(KeySpreadTest, KeysAreSpreadOverAllParts) {
  std::array<double, kHashParts> counts{};
  for (int i = 0; i < 64'000; ++i) ++counts[HashPartOf(absl::StrCat("user:", i))];
  for (const double count : counts) EXPECT_NEAR(count, 1'000, 200);
}

TEST(RequestTimesTest, ClassesArePowersOfTwo) {
  EXPECT_EQ(TimeClassOf(Duration(0)), 0U);
  EXPECT_EQ(TimeClassOf(Duration(63)), 0U);
  EXPECT_EQ(TimeClassOf(Duration(64)), 1U);
  EXPECT_EQ(TimeClassOf(Milliseconds(1)), 4U);
  EXPECT_EQ(TimeClassOf(Seconds(3'600)), kTimeClasses - 1);
  EXPECT_EQ(UpperBoundOf(4), Duration(1'024));
}

TEST(RequestTimesTest, QuantilesAreUpperBounds) {
  EXPECT_EQ(QuantileOf(RequestTimes{}, 0.5), Duration(0));
  RequestTimes times{};
  times[2] = 98;
  times[10] = 2;
  EXPECT_EQ(QuantileOf(times, 0.5), UpperBoundOf(2));
  EXPECT_EQ(QuantileOf(times, 0.98), UpperBoundOf(2));
  EXPECT_EQ(QuantileOf(times, 0.99), UpperBoundOf(10));
}

}  // namespace
}  // namespace shardmanager
