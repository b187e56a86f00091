// What both functions demand of their shards.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "shardmanager/routing.h"
#include "tests/routing/keys.h"

namespace shardmanager::routing {
namespace {

using Shards = std::vector<RoutedShard>;

template <typename Function>
class RoutedShardsTest : public testing::Test {};
using Functions = testing::Types<RendezvousHash, RingHash>;
TYPED_TEST_SUITE(RoutedShardsTest, Functions);

TYPED_TEST(RoutedShardsTest, OrderMeansNothing) {
  Shards shards = CountedShards(30);
  shards[7].weight = 3;
  const auto straight = *TypeParam::Make(shards);
  std::reverse(shards.begin(), shards.end());
  const auto reversed = *TypeParam::Make(shards);
  for (const std::string& key : CountedKeys(1'000)) {
    EXPECT_EQ(straight.Find(key), reversed.Find(key));
  }
}

TYPED_TEST(RoutedShardsTest, CopiesFindTheSame) {
  auto original = *TypeParam::Make(CountedShards(5));
  const auto copy = original;
  original = *TypeParam::Make({{.id = ShardId("other")}});
  EXPECT_EQ(original.Find("key"), ShardId("other"));
  EXPECT_EQ(copy.Find("key"), TypeParam::Make(CountedShards(5))->Find("key"));
}

TYPED_TEST(RoutedShardsTest, RefusesWhatIsNoListOfShards) {
  EXPECT_EQ(TypeParam::Make({}).status(),
            absl::InvalidArgumentError("there are no shards to choose from"));
  EXPECT_EQ(TypeParam::Make({{.id = ShardId("a")}, {.id = ShardId("")}}).status(),
            absl::InvalidArgumentError("a shard has no id"));
  EXPECT_EQ(
      TypeParam::Make({{.id = ShardId("a")}, {.id = ShardId("b")}, {.id = ShardId("a")}}).status(),
      absl::InvalidArgumentError("two shards are named a"));
}

TYPED_TEST(RoutedShardsTest, RefusesWeightsOutOfRange) {
  EXPECT_EQ(TypeParam::Make({{.id = ShardId("a"), .weight = 0}}).status(),
            absl::InvalidArgumentError("shard a has the weight 0; allowed: 1 to 1000"));
  EXPECT_EQ(TypeParam::Make({{.id = ShardId("a"), .weight = 1'001}}).status(),
            absl::InvalidArgumentError("shard a has the weight 1001; allowed: 1 to 1000"));
  EXPECT_TRUE(TypeParam::Make({{.id = ShardId("a"), .weight = 1'000}}).ok());
}

TEST(RendezvousHashTest, RefusesTooMuchWeight) {
  Shards shards = CountedShards(1'001);
  for (RoutedShard& shard : shards) shard.weight = 1'000;
  EXPECT_EQ(
      RendezvousHash::Make(shards).status(),
      absl::InvalidArgumentError("all weights together are 1001000; allowed: at most 1000000"));
}

TEST(RingHashTest, RefusesTooManyPointsAndNone) {
  EXPECT_EQ(RingHash::Make(CountedShards(2), 50'000'001).status(),
            absl::InvalidArgumentError("all weights together are 2; allowed: at most 1"));
  EXPECT_EQ(RingHash::Make(CountedShards(2), 0).status(),
            absl::InvalidArgumentError("virtual_nodes is 0"));
}

}  // namespace
}  // namespace shardmanager::routing
