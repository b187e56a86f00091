// How evenly the functions spread keys over shards.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "shardmanager/routing.h"
#include "tests/routing/keys.h"
#include "tests/routing/statistics.h"

namespace shardmanager::routing {
namespace {

constexpr size_t kKeys = 100'000;

std::vector<double> Expected(const std::vector<RoutedShard>& shards, size_t keys) {
  double weights = 0;
  for (const RoutedShard& shard : shards) weights += shard.weight;
  std::vector<double> expected;
  for (const RoutedShard& shard : shards) {
    expected.push_back(static_cast<double>(keys) * shard.weight / weights);
  }
  return expected;
}

void ExpectARandomDraw(const std::vector<RoutedShard>& shards,
                       const std::vector<std::string>& keys) {
  const auto counts = CountKeys(*RendezvousHash::Make(shards), shards, keys);
  EXPECT_LT(ChiSquare(counts, Expected(shards, keys.size())),
            ChiSquareBound(static_cast<double>(shards.size() - 1)));
}

TEST(RendezvousHashTest, SpreadsKeysAsARandomDrawDoes) {
  ExpectARandomDraw(CountedShards(64), CountedKeys(kKeys));
  ExpectARandomDraw(CountedShards(64), IntegerKeys(kKeys));
}

TEST(RendezvousHashTest, GivesEachShardItsWeight) {
  auto shards = CountedShards(8);
  for (uint32_t i = 0; i < 8; ++i) shards[i].weight = i + 1;
  ExpectARandomDraw(shards, CountedKeys(kKeys));
}

// A key that differs in one bit goes to a shard that is drawn anew.
TEST(RendezvousHashTest, DrawsAnewForASimilarKey) {
  constexpr size_t kShards = 16;
  const auto function = *RendezvousHash::Make(CountedShards(kShards));
  double stays = 0, pairs = 0;
  for (const std::string& key : CountedKeys(1'000)) {
    for (size_t bit = 0; bit < key.size() * 8; ++bit) {
      std::string other = key;
      other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << (bit % 8)));
      stays += function.Find(key) == function.Find(other);
      ++pairs;
    }
  }
  EXPECT_NEAR(stays, pairs / kShards, BinomialBound(pairs, 1.0 / kShards));
}

// The part of the ring that a shard has is random, and so is which keys stand there.
void ExpectRingSpread(const std::vector<RoutedShard>& shards, uint32_t virtual_nodes) {
  const auto counts = CountKeys(*RingHash::Make(shards, virtual_nodes), shards, CountedKeys(kKeys));
  const auto expected = Expected(shards, kKeys);
  double points = 0;
  for (const RoutedShard& shard : shards) points += shard.weight * virtual_nodes;
  const auto events = static_cast<double>(shards.size());
  for (size_t i = 0; i < shards.size(); ++i) {
    const double part = expected[i] / kKeys;
    const double off = RingPartBound(shards[i].weight * virtual_nodes, points, events);
    const double bound = off * kKeys + BinomialBound(kKeys, std::min(0.5, part + off), events);
    EXPECT_NEAR(static_cast<double>(counts[i]), expected[i], bound) << shards[i].id;
  }
}

TEST(RingHashTest, SpreadsKeysAsRandomPointsDo) {
  ExpectRingSpread(CountedShards(64), RingHash::kVirtualNodes);
  ExpectRingSpread(CountedShards(10), 1'024);
}

TEST(RingHashTest, GivesEachShardItsWeight) {
  auto shards = CountedShards(8);
  for (uint32_t i = 0; i < 8; ++i) shards[i].weight = i + 1;
  ExpectRingSpread(shards, RingHash::kVirtualNodes);
}

}  // namespace
}  // namespace shardmanager::routing
