// The rules of AppSpec.key_space, one by one.
#include <string>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/layout.h"
#include "tests/model/spec_builder.h"

namespace shardmanager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> Problems(const std::string& key_space) {
  return ProblemsOf(SpecWithKeySpace(key_space));
}

TEST(KeySpaceTest, AcceptsRangesThatCoverTheKeySpaceInAnyOrder) {
  EXPECT_THAT(Problems(R"(
      shards { id: 'c' range { start: 'n' } }
      shards { id: 'a' range { end: 'c' } }
      shards { id: 'b' range { start: 'c' end: 'n' } })"),
              IsEmpty());
}

TEST(KeySpaceTest, AcceptsOneShardOfAllKeys) {
  EXPECT_THAT(Problems("shards { id: 'all' range {} }"), IsEmpty());
}

TEST(KeySpaceTest, AcceptsShardsWithoutAnyRange) {
  EXPECT_THAT(Problems("shards { id: 'a' } shards { id: 'b' }"), IsEmpty());
}

TEST(KeySpaceTest, RefusesNeitherShardsNorSplitPoints) {
  EXPECT_THAT(Problems(""), ElementsAre("key_space: found none of shards, split_points and "
                                        "hash_shards; allowed: exactly one of shards, split_points "
                                        "and hash_shards"));
  v1::AppSpec spec = SpecWithKeySpace("");
  spec.clear_key_space();
  EXPECT_THAT(ProblemsOf(spec), SizeIs(1));
}

TEST(KeySpaceTest, RefusesBothShardsAndSplitPoints) {
  EXPECT_THAT(Problems("shards { id: 'a' } split_points: ['g', 'n']"),
              ElementsAre("key_space: found shards (1) and split_points (2); "
                          "allowed: exactly one of shards, split_points and hash_shards"));
  EXPECT_THAT(Problems("hash_shards: 4 split_points: '8'"),
              ElementsAre("key_space: found split_points (1) and hash_shards (4); "
                          "allowed: exactly one of shards, split_points and hash_shards"));
}

TEST(KeySpaceTest, RefusesShardIdsThatAreNotNames) {
  const std::string rule = "; allowed: 1 to 127 characters of [A-Za-z0-9._-]";
  EXPECT_THAT(Problems("shards { id: '' } shards { id: 'a/b' } shards { id: '..' }"),
              ElementsAre("key_space.shards[0].id: found nothing" + rule,
                          "key_space.shards[1].id: found \"a/b\"" + rule,
                          "key_space.shards[2].id: found \"..\"" + rule));
  EXPECT_THAT(Problems("shards { id: '" + std::string(127, 'x') + "' }"), IsEmpty());
  EXPECT_THAT(Problems("shards { id: '" + std::string(128, 'x') + "' }"), SizeIs(1));
}

TEST(KeySpaceTest, RefusesDuplicateShardIds) {
  EXPECT_THAT(
      Problems("shards { id: 'a' } shards { id: 'b' } shards { id: 'a' }"),
      ElementsAre("key_space.shards[2].id: found \"a\" (already the id of "
                  "key_space.shards[0]); allowed: an id that no other shard of the app has"));
}

TEST(KeySpaceTest, RefusesAShardInAnUnknownRegion) {
  v1::AppSpec spec = SpecWithKeySpace("shards { id: 'a' preferred_region: 'mars' }");
  EXPECT_THAT(ProblemsOf(spec), IsEmpty()) << "without placement.regions any region will do";
  spec.mutable_placement()->add_regions("eu-west");
  spec.mutable_placement()->add_regions("us-east");
  EXPECT_THAT(ProblemsOf(spec),
              ElementsAre("key_space.shards[0].preferred_region: found \"mars\" (unknown region); "
                          "allowed: one of placement.regions: \"eu-west\", \"us-east\""));
}

TEST(KeySpaceTest, RefusesRangesOnSomeShardsOnly) {
  const std::string rule = "; allowed: a range on every shard, or on none";
  EXPECT_THAT(Problems("shards { id: 'a' range {} } shards { id: 'b' }"),
              ElementsAre("key_space.shards[1].range: found a range on shard \"a\", none on "
                          "shard \"b\"" +
                          rule));
  EXPECT_THAT(Problems("shards { id: 'a' } shards { id: 'b' } shards { id: 'c' range {} }"),
              ElementsAre("key_space.shards[2].range: found a range on shard \"c\", none on "
                          "shard \"a\"" +
                          rule));
}

TEST(KeySpaceTest, RefusesEmptyAndInvertedRanges) {
  EXPECT_THAT(
      Problems(R"(
      shards { id: 'a' range { end: 'm' } }
      shards { id: 'b' range { start: 'm' end: 'm' } }
      shards { id: 'c' range { start: 'm' end: 'c' } }
      shards { id: 'd' range { start: 'm' } })"),
      ElementsAre("key_space.shards[1].range.end: found \"m\" (the range is empty); allowed: "
                  "a key after the range's start \"m\", or \"\": to the last key",
                  "key_space.shards[2].range.end: found \"c\" (the range is empty); allowed: "
                  "a key after the range's start \"m\", or \"\": to the last key"));
}

TEST(KeySpaceTest, LooksForGapsOnlyWhereNoRangeIsEmpty) {
  EXPECT_THAT(Problems(R"(
      shards { id: 'a' range { end: 'm' } }
      shards { id: 'b' range { start: 'm' end: 'c' } })"),
              ElementsAre(HasSubstr("shards[1].range.end: found \"c\" (the range is empty)")));
}

TEST(KeySpaceTest, NamesBothShardsOfAnOverlapAndWhereItIs) {
  EXPECT_THAT(Problems(R"(
      shards { id: 's-1' range { end: 'n' } }
      shards { id: 's-2' range { start: 'm' } })"),
              ElementsAre("key_space.shards[1].range.start: found \"m\" (overlaps shard \"s-1\", "
                          "which ends at \"n\"); allowed: \"n\""));
}

TEST(KeySpaceTest, SeesAnOverlapWithAShardFurtherBack) {
  EXPECT_THAT(Problems(R"(
      shards { id: 'wide' range { end: 'x' } }
      shards { id: 'inside' range { start: 'b' end: 'c' } }
      shards { id: 'late' range { start: 'd' end: 'x' } }
      shards { id: 'end' range { start: 'x' } })"),
              ElementsAre(HasSubstr("[1].range.start: found \"b\" (overlaps shard \"wide\""),
                          HasSubstr("[2].range.start: found \"d\" (overlaps shard \"wide\"")));
}

TEST(KeySpaceTest, RefusesTwoShardsToTheLastKey) {
  EXPECT_THAT(
      Problems("shards { id: 'a' range {} } shards { id: 'b' range {} }"),
      ElementsAre("key_space.shards[1].range.start: found \"\" (overlaps shard \"a\", which "
                  "ends at the last key); allowed: ranges that do not overlap"));
}

TEST(KeySpaceTest, NamesTheGapAndTheShardBeforeIt) {
  EXPECT_THAT(Problems(R"(
      shards { id: 's-1' range { end: 'g' } }
      shards { id: 's-2' range { start: 'n' } })"),
              ElementsAre("key_space.shards[1].range.start: found \"n\" (no shard holds the keys "
                          "from \"g\", where shard \"s-1\" ends); allowed: \"g\""));
}

TEST(KeySpaceTest, RefusesKeysMissingAtBothEnds) {
  EXPECT_THAT(
      Problems("shards { id: 's' range { start: 'b' end: 'y' } }"),
      ElementsAre("key_space.shards[0].range.start: found \"b\" (no shard holds the keys "
                  "before it); allowed: \"\": from the first key",
                  "key_space.shards[0].range.end: found \"y\" (no shard holds the keys from "
                  "there on); allowed: \"\": to the last key"));
}

TEST(KeySpaceTest, ComparesKeysAsUnsignedBytes) {
  EXPECT_THAT(Problems("split_points: ['Z', 'a', '\\303\\251']"), IsEmpty());
  EXPECT_THAT(Problems("split_points: ['a', 'Z']"), SizeIs(1));
}

TEST(KeySpaceTest, RefusesSplitPointsThatDoNotAscend) {
  EXPECT_THAT(Problems("split_points: ['g', 'c', 'n', 'n']"),
              ElementsAre("key_space.split_points[1]: found \"c\" (not ascending); allowed: a key "
                          "after \"g\" at key_space.split_points[0]",
                          "key_space.split_points[3]: found \"n\" (twice); allowed: a key after "
                          "\"n\" at key_space.split_points[2]"));
}

TEST(KeySpaceTest, RefusesEmptySplitPoints) {
  EXPECT_THAT(Problems("split_points: ['', 'b']"),
              ElementsAre("key_space.split_points[0]: found \"\"; allowed: a key: the first shard "
                          "starts at \"\" by itself"));
}

TEST(KeySpaceTest, RefusesPrefixesThatDoNotMakeNames) {
  EXPECT_THAT(Problems("split_points: 'm' shard_prefix: 'a b'"),
              ElementsAre("key_space.shard_prefix: found \"a b\"; allowed: 1 to 126 characters of "
                          "[A-Za-z0-9._-]"));
  EXPECT_THAT(Problems("split_points: 'm' shard_prefix: '" + std::string(126, 'x') + "'"),
              IsEmpty());
  EXPECT_THAT(Problems("split_points: 'm' shard_prefix: '" + std::string(127, 'x') + "'"),
              SizeIs(1));
}

TEST(KeySpaceTest, RefusesAPrefixForListedShards) {
  EXPECT_THAT(
      Problems("shards { id: 'a' } shard_prefix: 'p-'"),
      ElementsAre("key_space.shard_prefix: found \"p-\"; allowed: nothing: the prefix names "
                  "the shards made by split_points and hash_shards"));
}

TEST(KeySpaceTest, AcceptsRangesOfHashes) {
  EXPECT_THAT(Problems("hash_shards: 256"), IsEmpty());
  EXPECT_THAT(Problems("hash_shards: 1000000 hash_keys: true shard_prefix: 'p-'"), IsEmpty());
  EXPECT_THAT(Problems("split_points: ['4', '8', 'c'] hash_keys: true"), IsEmpty());
  EXPECT_THAT(Problems("split_points: '0123456789abcdef' hash_keys: true"), IsEmpty());
  EXPECT_THAT(
      Problems("shards { id: 'a' range { end: '8' } } shards { id: 'b' range { start: '8' } } "
               "hash_keys: true"),
      IsEmpty());
}

TEST(KeySpaceTest, RefusesRangesThatAreNotOfHashes) {
  const std::string rule =
      "; allowed: with hash_keys: the first digits of a hash, 1 to 16 of [0-9a-f], the last one "
      "not 0";
  for (const std::string point : {"m", "C", "80", "0", "0123456789abcdef1"}) {
    EXPECT_THAT(Problems("hash_keys: true split_points: '" + point + "'"),
                ElementsAre("key_space.split_points[0]: found \"" + point + "\"" + rule));
  }
  EXPECT_THAT(
      Problems("shards { id: 'a' range { end: 'm' } } shards { id: 'b' range { start: 'm' } } "
               "hash_keys: true"),
      ElementsAre("key_space.shards[0].range.end: found \"m\"" + rule,
                  "key_space.shards[1].range.start: found \"m\"" + rule));
  EXPECT_THAT(Problems("shards { id: 'a' } hash_keys: true"),
              ElementsAre("key_space.shards[0].range: found nothing; allowed: a range of hashes, "
                          "with hash_keys"));
}

TEST(KeySpaceTest, RefusesTooManyShardsOfHashes) {
  EXPECT_THAT(Problems("hash_shards: 1000001"),
              ElementsAre("key_space.hash_shards: found 1000001; allowed: at most 1000000"));
}

TEST(KeySpaceTest, RefusesPrefixesThatAreTooLongForTheLastShardOfHashes) {
  EXPECT_THAT(Problems("hash_shards: 10 shard_prefix: '" + std::string(126, 'x') + "'"), IsEmpty());
  EXPECT_THAT(Problems("hash_shards: 11 shard_prefix: '" + std::string(126, 'x') + "'"), SizeIs(1));
}

// A million shards, listed backwards, one of them too short: found in one sort,
// where anything quadratic would take hours.
TEST(KeySpaceTest, FindsOneGapAmongAMillionShards) {
  constexpr int kShards = 1'000'000;
  const auto key = [](int i) { return i == 0 || i == kShards ? "" : absl::StrFormat("%07d", i); };
  v1::AppSpec spec = SpecWithKeySpace("");
  for (int i = kShards - 1; i >= 0; --i) {
    v1::Shard& shard = *spec.mutable_key_space()->add_shards();
    shard.set_id(absl::StrCat("s-", i));
    shard.mutable_range()->set_start(key(i));
    shard.mutable_range()->set_end(i == 700'000 ? "0700000x" : key(i + 1));
  }
  EXPECT_THAT(ProblemsOf(spec),
              ElementsAre("key_space.shards[299998].range.start: found \"0700001\" (no shard holds "
                          "the keys from \"0700000x\", where shard \"s-700000\" ends); allowed: "
                          "\"0700000x\""));
}

}  // namespace
}  // namespace shardmanager
