// What a change of the spec would do, and which changes need --force.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/spec/spec_validation.h"
#include "tests/model/spec_builder.h"

namespace shardmanager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SpecDiffTest, SeesNoDifferenceBetweenASpecAndItself) {
  const SpecChange change = CompareSpecs(SpecWith(""), SpecWith(""));
  EXPECT_THAT(change.differences, IsEmpty());
  EXPECT_THAT(change.losses, IsEmpty());
}

TEST(SpecDiffTest, SeesNoDifferenceBetweenSplitPointsAndTheSameShardsListed) {
  const SpecChange change = CompareSpecs(SpecWithKeySpace("split_points: 'm'"), SpecWithKeySpace(R"(
      shards { id: 'shard-1' range { start: 'm' } }
      shards { id: 'shard-0' range { end: 'm' } })"));
  EXPECT_THAT(change.differences, IsEmpty());
  EXPECT_THAT(change.losses, IsEmpty());
}

TEST(SpecDiffTest, ListsChangedFieldsByPath) {
  const SpecChange change = CompareSpecs(
      SpecWith("placement { regions: 'a' }"),
      SpecWith("replication { replicas: 3 } placement { regions: ['a', 'b'] preferred_region: 'b' "
               "spread: REGION } failover { delay_ms: 30000 }"));
  EXPECT_THAT(
      change.differences,
      ElementsAre("replication.replicas: 1 -> 3", "placement.regions: [\"a\"] -> [\"a\", \"b\"]",
                  "placement.preferred_region: nothing -> \"b\"",
                  "placement.spread: server -> region", "failover.delay_ms: 0 -> 30000"));
  EXPECT_THAT(change.losses, IsEmpty());
}

TEST(SpecDiffTest, AddingShardsWithoutRangesLosesNothing) {
  const SpecChange change = CompareSpecs(SpecWithKeySpace("shards { id: 'a' }"),
                                         SpecWithKeySpace("shards { id: 'b' } shards { id: 'a' }"));
  EXPECT_THAT(change.differences, ElementsAre("shards: 1 -> 2 (1 added: b)"));
  EXPECT_THAT(change.losses, IsEmpty());
}

TEST(SpecDiffTest, RemovingShardsLosesThem) {
  const SpecChange change =
      CompareSpecs(SpecWithKeySpace("shards { id: 'a' } shards { id: 'b' } shards { id: 'c' } "
                                    "shards { id: 'd' } shards { id: 'e' }"),
                   SpecWithKeySpace("shards { id: 'e' } shards { id: 'f' }"));
  EXPECT_THAT(change.differences,
              ElementsAre("shards: 5 -> 2 (1 added: f; 4 removed: a, b, c, ...)"));
  EXPECT_THAT(change.losses, ElementsAre("4 shards would be lost: a, b, c, ..."));
}

TEST(SpecDiffTest, NamesASingleShardThatGoes) {
  const SpecChange change = CompareSpecs(SpecWithKeySpace("shards { id: 'a' } shards { id: 'b' }"),
                                         SpecWithKeySpace("shards { id: 'a' }"));
  EXPECT_THAT(change.differences, ElementsAre("shards: 2 -> 1 (1 removed: b)"));
}

TEST(SpecDiffTest, MovingASplitPointHandsKeysOver) {
  const SpecChange change = CompareSpecs(SpecWithKeySpace("split_points: ['g', 'n']"),
                                         SpecWithKeySpace("split_points: ['g', 'p']"));
  const std::string which =
      "(shard-1: [\"g\", \"n\") -> [\"g\", \"p\"), shard-2: [\"n\", last key] -> [\"p\", last "
      "key])";
  EXPECT_THAT(change.differences, ElementsAre("key ranges: 2 changed " + which));
  EXPECT_THAT(change.losses,
              ElementsAre("keys change hands: 2 shards would hold other keys " + which));
}

TEST(SpecDiffTest, HashingKeysHandsKeysOver) {
  const SpecChange change = CompareSpecs(SpecWithKeySpace("split_points: '8'"),
                                         SpecWithKeySpace("split_points: '8' hash_keys: true"));
  EXPECT_THAT(change.losses,
              ElementsAre("keys change hands: 2 shards would hold other keys (shard-0: [first key, "
                          "\"8\") -> hash [0, 8), shard-1: [\"8\", last key] -> hash [8, end])"));
  const SpecChange same = CompareSpecs(SpecWithKeySpace("split_points: '8' hash_keys: true"),
                                       SpecWithKeySpace("hash_shards: 2"));
  EXPECT_THAT(same.losses, IsEmpty());
  EXPECT_THAT(same.differences, IsEmpty());
}

TEST(SpecDiffTest, SplittingAShardHandsKeysOver) {
  const SpecChange change = CompareSpecs(SpecWithKeySpace("split_points: 'm'"),
                                         SpecWithKeySpace("split_points: ['m', 't']"));
  EXPECT_THAT(change.differences,
              ElementsAre("shards: 2 -> 3 (1 added: shard-2)",
                          "key ranges: 1 changed (shard-1: [\"m\", last key] -> [\"m\", \"t\"))"));
  EXPECT_THAT(change.losses,
              ElementsAre("keys change hands: 1 shard would hold other keys (shard-1: [\"m\", last "
                          "key] -> [\"m\", \"t\"))"));
}

TEST(SpecDiffTest, TakingRangesAwayHandsKeysOver) {
  const SpecChange change = CompareSpecs(SpecWithKeySpace("shards { id: 'a' range {} }"),
                                         SpecWithKeySpace("shards { id: 'a' }"));
  EXPECT_THAT(change.losses, ElementsAre("keys change hands: 1 shard would hold other keys (a: "
                                         "[first key, last key] -> no range)"));
}

TEST(SpecDiffTest, AnotherStrategyNeedsForce) {
  const SpecChange change =
      CompareSpecs(SpecWith(""), SpecWith("replication { strategy: PRIMARY_ONLY }"));
  EXPECT_THAT(change.differences,
              ElementsAre("replication.strategy: secondary-only -> primary-only"));
  EXPECT_THAT(change.losses,
              ElementsAre("the replication strategy changes from secondary-only to primary-only: "
                          "every shard is dropped and added again"));
}

TEST(SpecDiffTest, FewerReplicasLoseNoShard) {
  const SpecChange change = CompareSpecs(SpecWith("replication { replicas: 3 }"), SpecWith(""));
  EXPECT_THAT(change.differences, ElementsAre("replication.replicas: 3 -> 1"));
  EXPECT_THAT(change.losses, IsEmpty());
}

TEST(SpecDiffTest, ListsShardsWhoseOwnRegionChanged) {
  const SpecChange change =
      CompareSpecs(SpecWithKeySpace("shards { id: 'a' preferred_region: 'x' } shards { id: 'b' }"),
                   SpecWithKeySpace("shards { id: 'a' preferred_region: 'y' } shards { id: 'b' }"));
  EXPECT_THAT(change.differences, ElementsAre("preferred regions of shards: 1 changed (a)"));
  EXPECT_THAT(change.losses, IsEmpty());
}

TEST(SpecDiffTest, SaysAChangeOfTheAppsRegionOnce) {
  EXPECT_THAT(
      CompareSpecs(SpecWith(""), SpecWith("placement { preferred_region: 'x' }")).differences,
      ElementsAre("placement.preferred_region: nothing -> \"x\""));
}

}  // namespace
}  // namespace shardmanager
