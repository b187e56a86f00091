#include "model/layout.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/model/spec_builder.h"

namespace shardmanager {
namespace {

using ::testing::ElementsAre;

// "id [start, end) region", a line a shard.
std::vector<std::string> Lines(const std::vector<LayoutShard>& layout) {
  std::vector<std::string> lines;
  for (const LayoutShard& shard : layout) {
    lines.push_back(absl::StrCat(shard.id.value(), shard.hashed ? " hash" : "",
                                 shard.has_range ? " [" + shard.start + ", " + shard.end + ")" : "",
                                 shard.preferred_region.empty() ? "" : " ",
                                 shard.preferred_region));
  }
  return lines;
}

TEST(LayoutTest, CutsTheKeySpaceAtSplitPoints) {
  EXPECT_THAT(Lines(ExpandLayout(SpecWithKeySpace("split_points: ['g', 'n']"))),
              ElementsAre("shard-0 [, g)", "shard-1 [g, n)", "shard-2 [n, )"));
}

TEST(LayoutTest, CutsAllHashesIntoEqualParts) {
  EXPECT_THAT(Lines(ExpandLayout(SpecWithKeySpace("hash_shards: 4"))),
              ElementsAre("shard-0 hash [, 4)", "shard-1 hash [4, 8)", "shard-2 hash [8, c)",
                          "shard-3 hash [c, )"));
  EXPECT_THAT(Lines(ExpandLayout(SpecWithKeySpace("hash_shards: 1 shard_prefix: 'all-'"))),
              ElementsAre("all-0 hash [, )"));
  EXPECT_THAT(Lines(ExpandLayout(SpecWithKeySpace("hash_shards: 3"))),
              ElementsAre("shard-0 hash [, 5555555555555556)",
                          "shard-1 hash [5555555555555556, aaaaaaaaaaaaaaab)",
                          "shard-2 hash [aaaaaaaaaaaaaaab, )"));
}

TEST(LayoutTest, PartsOfHashesDifferByOneHashAtMost) {
  const auto layout = ExpandLayout(SpecWithKeySpace("hash_shards: 1000"));
  ASSERT_EQ(layout.size(), 1000u);
  // "": of the last shard, all hashes end at 2^64, which is 0 here.
  const auto number = [](std::string digits) {
    digits.resize(16, '0');
    return std::stoull(digits, nullptr, 16);
  };
  for (const LayoutShard& shard : layout) {
    const uint64_t hashes = number(shard.end) - number(shard.start);
    EXPECT_GE(hashes, 18'446'744'073'709'551u) << shard.id;
    EXPECT_LE(hashes, 18'446'744'073'709'552u) << shard.id;
  }
}

TEST(LayoutTest, SplitPointsMayBeHashes) {
  EXPECT_THAT(Lines(ExpandLayout(SpecWithKeySpace("split_points: '8' hash_keys: true"))),
              ElementsAre("shard-0 hash [, 8)", "shard-1 hash [8, )"));
}

TEST(LayoutTest, PadsShardNumbersSoThatNamesSortLikeRanges) {
  v1::AppSpec spec = SpecWithKeySpace("shard_prefix: 'users-'");
  for (char c = 'a'; c <= 'j'; ++c) spec.mutable_key_space()->add_split_points(std::string(1, c));
  const auto layout = ExpandLayout(spec);
  ASSERT_EQ(layout.size(), 11u);
  EXPECT_EQ(layout.front().id, ShardId("users-00"));
  EXPECT_EQ(layout.back().id, ShardId("users-10"));
}

TEST(LayoutTest, NeedsNoWiderNumbersForExactlyTenShards) {
  v1::AppSpec spec = SpecWithKeySpace("");
  for (char c = 'a'; c <= 'i'; ++c) spec.mutable_key_space()->add_split_points(std::string(1, c));
  EXPECT_EQ(ExpandLayout(spec).back().id, ShardId("shard-9"));
}

TEST(LayoutTest, OrdersListedShardsByKeyAsUnsignedBytes) {
  EXPECT_THAT(Lines(ExpandLayout(SpecWithKeySpace(R"(
                shards { id: 'high' range { start: '\303\251' } }
                shards { id: 'low' range { end: 'm' } }
                shards { id: 'middle' range { start: 'm' end: '\303\251' } })"))),
              ElementsAre("low [, m)", "middle [m, \u00e9)", "high [\u00e9, )"));
}

TEST(LayoutTest, OrdersShardsWithoutRangesById) {
  EXPECT_THAT(Lines(ExpandLayout(SpecWithKeySpace("shards { id: 'b' } shards { id: 'a' }"))),
              ElementsAre("a", "b"));
}

TEST(LayoutTest, PrefersTheShardsRegionToTheApps) {
  v1::AppSpec spec =
      SpecWithKeySpace("shards { id: 'a' preferred_region: 'us-east' } shards { id: 'b' }");
  spec.mutable_placement()->set_preferred_region("eu-west");
  EXPECT_THAT(Lines(ExpandLayout(spec)), ElementsAre("a us-east", "b eu-west"));
}

}  // namespace
}  // namespace shardmanager
