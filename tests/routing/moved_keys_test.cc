// Which keys change their shard when a shard is added or removed, and how many.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "shardmanager/routing.h"
#include "tests/routing/keys.h"
#include "tests/routing/statistics.h"

namespace shardmanager::routing {
namespace {

constexpr size_t kKeys = 100'000;
constexpr size_t kShards = 20;
constexpr double kNewPart = 1.0 / (kShards + 1);

struct Moves {
  double moved = 0;
  double between_others = 0;  // neither to nor from the shard that makes the difference
};
// Between two functions, of which only one has the shard `difference`.
template <typename Function>
Moves CountMoves(const Function& before, const Function& after, const ShardId& difference) {
  Moves moves;
  for (const std::string& key : CountedKeys(kKeys)) {
    const ShardId& from = before.Find(key);
    const ShardId& to = after.Find(key);
    if (from == to) continue;
    ++moves.moved;
    if (from != difference && to != difference) ++moves.between_others;
  }
  return moves;
}

TEST(RendezvousHashTest, MovesTheNewShardsPartOfTheKeysAndNoOther) {
  const auto shards = CountedShards(kShards + 1);
  const auto before = *RendezvousHash::Make(CountedShards(kShards));
  const auto after = *RendezvousHash::Make(shards);
  const Moves added = CountMoves(before, after, shards.back().id);
  EXPECT_EQ(added.between_others, 0);
  EXPECT_NEAR(added.moved, kKeys * kNewPart, BinomialBound(kKeys, kNewPart));
  const Moves removed = CountMoves(after, before, shards.back().id);
  EXPECT_EQ(removed.between_others, 0);
  EXPECT_EQ(removed.moved, added.moved);
}

TEST(RendezvousHashTest, MovesKeysToAShardWhoseWeightGrowsAndNoOther) {
  auto shards = CountedShards(kShards);
  const auto before = *RendezvousHash::Make(shards);
  shards[3].weight = 2;
  const Moves moves = CountMoves(before, *RendezvousHash::Make(shards), shards[3].id);
  EXPECT_EQ(moves.between_others, 0);
  // The second unit of weight wins 1/(N+1) of the keys, of which the first had its part.
  const double part = kNewPart * (kShards - 1) / kShards;
  EXPECT_NEAR(moves.moved, kKeys * part, BinomialBound(kKeys, part));
}

TEST(RingHashTest, MovesAboutTheNewShardsPartOfTheKeysAndNoOther) {
  const auto shards = CountedShards(kShards + 1);
  const auto before = *RingHash::Make(CountedShards(kShards));
  const auto after = *RingHash::Make(shards);
  const Moves added = CountMoves(before, after, shards.back().id);
  EXPECT_EQ(added.between_others, 0);
  constexpr double kNodes = RingHash::kVirtualNodes;
  const double off = RingPartBound(kNodes, kNodes * (kShards + 1));
  EXPECT_NEAR(added.moved, kKeys * kNewPart, kKeys * off + BinomialBound(kKeys, kNewPart + off));
  const Moves removed = CountMoves(after, before, shards.back().id);
  EXPECT_EQ(removed.between_others, 0);
  EXPECT_EQ(removed.moved, added.moved);
}

// What everybody does first, for comparison.
TEST(ModuloTest, MovesAllKeysButTheNewShardsPart) {
  double moved = 0;
  for (const std::string& key : CountedKeys(kKeys)) {
    moved += KeyHash(key) % kShards != KeyHash(key) % (kShards + 1);
  }
  // Of N (N+1) residues, N stay: those below N.
  const double part = double{kShards} / (kShards + 1);
  EXPECT_NEAR(moved, kKeys * part, BinomialBound(kKeys, part));
}

}  // namespace
}  // namespace shardmanager::routing
