#include "model/region_preferences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/model/spec_builder.h"

namespace shardmanager {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::AppSpec Spec() {
  v1::AppSpec spec = SpecWithKeySpace(
      "shards { id: 'a' preferred_region: 'us' } shards { id: 'b' } shards { id: 'c' }");
  for (const char* region : {"eu", "us", "ap"}) spec.mutable_placement()->add_regions(region);
  return spec;
}

using Entries = std::vector<std::pair<std::string, std::string>>;

PreferenceList List(const Entries& entries) {
  PreferenceList list;
  for (const auto& [shard, region] : entries) {
    v1::ShardPreference& entry = *list.Add();
    entry.set_shard(shard);
    entry.set_region(region);
  }
  return list;
}

// "us: a c", by region; "us 5: a c" of a weight that is stored.
std::vector<std::string> Lines(const v1::StoredPreferences& stored) {
  std::vector<std::string> lines;
  for (const auto& region : stored.regions()) {
    const std::string weight = region.weight() == 0 ? "" : absl::StrCat(" ", region.weight());
    std::string line = absl::StrCat(region.region(), weight, ":");
    for (const std::string& shard : region.shards()) absl::StrAppend(&line, " ", shard);
    lines.push_back(line);
  }
  return lines;
}

PreferenceChange Change(const v1::StoredPreferences& before, const Entries& entries,
                        bool replace = false) {
  auto change = ChangePreferences(Spec(), before, List(entries), replace);
  EXPECT_TRUE(change.ok()) << change.status();
  return change.ok() ? *std::move(change) : PreferenceChange();
}

std::string Refusal(const Entries& entries) {
  const auto change = ChangePreferences(Spec(), {}, List(entries), false);
  return std::string(change.status().message());
}

TEST(RegionPreferencesTest, AreSortedByRegionAndShard) {
  const PreferenceChange change = Change({}, {{"c", "us"}, {"a", "us"}, {"b", "eu"}});
  EXPECT_THAT(Lines(change.stored), ElementsAre("eu: b", "us: a c"));
  EXPECT_EQ(change.changed, 3u);
  EXPECT_EQ(change.unchanged, 0u);
}

TEST(RegionPreferencesTest, AddToWhatWasOrderedBefore) {
  const auto before = Change({}, {{"a", "eu"}, {"b", "eu"}}).stored;
  const PreferenceChange change = Change(before, {{"b", "us"}, {"a", "eu"}, {"c", "ap"}});
  EXPECT_THAT(Lines(change.stored), ElementsAre("ap: c", "eu: a", "us: b"));
  EXPECT_EQ(change.changed, 2u);
  EXPECT_EQ(change.unchanged, 1u);
}

TEST(RegionPreferencesTest, AnEmptyRegionTakesTheOrderBack) {
  const auto before = Change({}, {{"a", "eu"}, {"b", "eu"}}).stored;
  const PreferenceChange change = Change(before, {{"a", ""}, {"c", ""}});
  EXPECT_THAT(Lines(change.stored), ElementsAre("eu: b"));
  EXPECT_EQ(change.changed, 1u);
  EXPECT_EQ(change.unchanged, 1u) << "there was none for c";
}

TEST(RegionPreferencesTest, ReplaceTakesBackWhatTheListDoesNotName) {
  const auto before = Change({}, {{"a", "eu"}, {"b", "eu"}}).stored;
  const PreferenceChange change = Change(before, {{"b", "eu"}}, true);
  EXPECT_THAT(Lines(change.stored), ElementsAre("eu: b"));
  EXPECT_EQ(change.changed, 1u);
  EXPECT_EQ(change.unchanged, 1u);
  EXPECT_THAT(Lines(Change(before, {}, true).stored), IsEmpty());
}

TEST(RegionPreferencesTest, OrdersForShardsThatAreGoneAreForgotten) {
  v1::StoredPreferences before;
  auto& region = *before.add_regions();
  region.set_region("eu");
  region.add_shards("gone");
  const PreferenceChange change = Change(before, {{"a", "eu"}});
  EXPECT_THAT(Lines(change.stored), ElementsAre("eu: a"));
  EXPECT_EQ(change.changed, 1u);
}

TEST(RegionPreferencesTest, WrongEntriesAreNamedByTheirPlace) {
  EXPECT_EQ(Refusal({{"a", "eu"}, {"z", "eu"}}),
            "preferences[1].shard: found \"z\"; allowed: a shard of the app");
  EXPECT_EQ(Refusal({{"", "eu"}}),
            "preferences[0].shard: found nothing; allowed: a shard of the app");
  EXPECT_EQ(Refusal({{"a", "mars"}}),
            "preferences[0].region: found \"mars\" (unknown region); allowed: one of "
            "placement.regions: \"eu\", \"us\", \"ap\"");
  EXPECT_EQ(
      Refusal({{"b", "eu"}, {"a", "eu"}, {"b", "us"}}),
      "preferences[2].shard: found \"b\"; allowed: each shard once; preferences[0] has it too");
  EXPECT_THAT(Refusal({{"z", "eu"}, {"a", "no blanks"}}),
              AllOf(HasSubstr("preferences[0].shard"), HasSubstr("preferences[1].region")))
      << "all that is wrong";
}

PreferenceList Weighed(const std::string& shard, const std::string& region, uint32_t weight) {
  PreferenceList list = List({{shard, region}});
  list.at(0).set_weight(weight);
  return list;
}

TEST(RegionPreferencesTest, WeightsAreStoredByRegion) {
  v1::StoredPreferences stored = Change({}, {{"a", "us"}, {"b", "us"}, {"c", "us"}}).stored;
  stored = ChangePreferences(Spec(), stored, Weighed("b", "us", 5), false)->stored;
  EXPECT_THAT(Lines(stored), ElementsAre("us: a c", "us 5: b"));
  std::vector<uint32_t> weights;
  for (const LayoutShard& shard : ExpandLayout(Spec(), stored)) {
    EXPECT_EQ(shard.preferred_region, "us");
    weights.push_back(shard.preference_weight);
  }
  EXPECT_THAT(weights, ElementsAre(1, 5, 1));
}

TEST(RegionPreferencesTest, AnotherWeightIsAChange) {
  const v1::StoredPreferences light = Change({}, {{"a", "us"}, {"b", "us"}}).stored;
  const auto heavy = ChangePreferences(Spec(), light, Weighed("a", "us", 100), false);
  EXPECT_EQ(heavy->changed, 1u);
  EXPECT_EQ(heavy->unchanged, 0u);
  // Without a weight, and with the least one, is the same.
  const auto least = ChangePreferences(Spec(), light, Weighed("a", "us", 1), false);
  EXPECT_EQ(least->changed, 0u);
  EXPECT_EQ(least->unchanged, 1u);
  EXPECT_THAT(Lines(least->stored), ElementsAre("us: a b"));
  // An order without a weight takes the weight back.
  const PreferenceChange back = Change(heavy->stored, {{"a", "us"}});
  EXPECT_EQ(back.changed, 1u);
  EXPECT_THAT(Lines(back.stored), ElementsAre("us: a b"));
}

TEST(RegionPreferencesTest, WrongWeightsAreNamedByTheirPlace) {
  const auto refusal = [](const PreferenceList& list) {
    return std::string(ChangePreferences(Spec(), {}, list, false).status().message());
  };
  EXPECT_EQ(refusal(Weighed("a", "us", 101)),
            "preferences[0].weight: found 101; allowed: 1 to 100");
  EXPECT_EQ(refusal(Weighed("a", "", 5)),
            "preferences[0].weight: found 5; allowed: none without a region");
  EXPECT_EQ(refusal(Weighed("a", "us", 100)), "");
}

TEST(RegionPreferencesTest, OutrankTheSpec) {
  std::vector<std::string> lines;
  for (const LayoutShard& shard : ExpandLayout(Spec(), Change({}, {{"a", "eu"}}).stored)) {
    lines.push_back(absl::StrCat(shard.id.value(), " ", shard.preferred_region,
                                 shard.region_ordered ? " ordered" : ""));
  }
  EXPECT_THAT(lines, ElementsAre("a eu ordered", "b ", "c "));
  EXPECT_EQ(ExpandLayout(Spec(), {})[0].preferred_region, "us");
}

}  // namespace
}  // namespace shardmanager
