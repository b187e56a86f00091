// `shardctl prefer`, and where preferences are shown.
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/cli/shardctl_fixture.h"

namespace shardmanager::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class PreferCommandTest : public ShardctlTest {
 protected:
  PreferCommandTest() {
    setenv("USER", "jo", /*overwrite=*/1);
    admin_.preferred.set_changed(2);
    admin_.preferred.set_unchanged(1);
  }
  ExitCode PreferFrom(const std::string& text, const std::vector<std::string>& more = {}) {
    input_ = text;
    std::vector<std::string> arguments{"prefer", "-f", "-", "--app", "kv"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }
};

TEST_F(PreferCommandTest, OneShardInOneRegion) {
  EXPECT_EQ(Run({"prefer", "s-1", "eu", "--app", "kv"}), kOk);
  EXPECT_THAT(admin_.requests(), ElementsAre("PreferRegions{app: \"kv\" preferences { shard: "
                                             "\"s-1\" region: \"eu\" } who: \"jo\"}"));
  EXPECT_EQ(out_, "kv: 2 shards changed, 1 as before\n");
}

TEST_F(PreferCommandTest, ADashIsWhatTheSpecSays) {
  EXPECT_EQ(Run({"prefer", "s-1", "-", "--app", "kv"}), kOk);
  EXPECT_THAT(admin_.requests(),
              ElementsAre("PreferRegions{app: \"kv\" preferences { shard: \"s-1\" } who: \"jo\"}"));
}

TEST_F(PreferCommandTest, AFileHasOneShardALine) {
  EXPECT_EQ(PreferFrom("# by latency\n\ns-1 eu\r\n  s-2\tus  # far\ns-3 -", {"--replace"}), kOk);
  EXPECT_THAT(admin_.requests(),
              ElementsAre("PreferRegions{app: \"kv\" preferences { shard: \"s-1\" region: \"eu\" } "
                          "preferences { shard: \"s-2\" region: \"us\" } preferences { shard: "
                          "\"s-3\" } replace: true who: \"jo\"}"));
}

TEST_F(PreferCommandTest, AWeightMayBeGivenToOneAndInAFile) {
  EXPECT_EQ(Run({"prefer", "s-1", "eu", "--weight", "7", "--app", "kv"}), kOk);
  EXPECT_EQ(PreferFrom("s-1 eu 100\ns-2 eu\n"), kOk);
  EXPECT_THAT(
      admin_.requests(),
      ElementsAre("PreferRegions{app: \"kv\" preferences { shard: \"s-1\" region: \"eu\" weight: 7 "
                  "} who: \"jo\"}",
                  "PreferRegions{app: \"kv\" preferences { shard: \"s-1\" region: \"eu\" weight: "
                  "100 } preferences { shard: \"s-2\" region: \"eu\" } who: \"jo\"}"));
}

TEST_F(PreferCommandTest, WrongWeightsAreRefusedBeforeAnythingIsSent) {
  EXPECT_EQ(PreferFrom("s-1 eu 0\ns-2 eu 101\ns-3 eu many\ns-4 eu -1\n"), kUsage);
  EXPECT_EQ(err_,
            "standard input:1: weight: found \"0\"; allowed: 1 to 100\n"
            "standard input:2: weight: found \"101\"; allowed: 1 to 100\n"
            "standard input:3: weight: found \"many\"; allowed: 1 to 100\n"
            "standard input:4: weight: found \"-1\"; allowed: 1 to 100\n");
  EXPECT_EQ(Run({"prefer", "s-1", "eu", "--weight", "101", "--app", "kv"}), kUsage);
  EXPECT_EQ(Run({"prefer", "--weight", "5", "--file", "x", "--app", "kv"}), kUsage);
  EXPECT_THAT(admin_.requests(), IsEmpty());
}

TEST_F(PreferCommandTest, ADryRunSaysThatNothingWasChanged) {
  EXPECT_EQ(PreferFrom("s-1 eu\n", {"--dry-run"}), kOk);
  EXPECT_EQ(out_, "kv: 2 shards changed, 1 as before (dry run: nothing was changed)\n");
}

TEST_F(PreferCommandTest, ARegionWithoutServersIsNamed) {
  admin_.preferred.add_regions_without_servers("mars");
  EXPECT_EQ(Run({"prefer", "s-1", "mars", "--app", "kv"}), kOk);
  EXPECT_THAT(out_,
              HasSubstr("no server of the app is in mars now: its shards stay where they are"));
}

TEST_F(PreferCommandTest, LinesThatAreWrongAreNamedAndNothingIsSent) {
  EXPECT_EQ(PreferFrom("s-1 eu\ns-2\ns-3 eu 5 6\ns-1 us\n"), kUsage);
  EXPECT_EQ(
      err_,
      "standard input:2: found 1 word; allowed: a shard and a region, or - for what the spec "
      "says; and a weight, or none\n"
      "standard input:3: found 4 words; allowed: a shard and a region, or - for what the spec "
      "says; and a weight, or none\n"
      "standard input:4: found \"s-1\" again; allowed: each shard once; line 1 has it too\n");
  EXPECT_THAT(admin_.requests(), IsEmpty());
}

TEST_F(PreferCommandTest, OfManyWrongLinesTwentyAreNamed) {
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += "word\n";
  EXPECT_EQ(PreferFrom(text), kUsage);
  EXPECT_THAT(err_, HasSubstr("standard input:20: found 1 word"));
  EXPECT_THAT(err_, HasSubstr("standard input:20: more is not looked at\n"));
  EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 21);
}

TEST_F(PreferCommandTest, AnEmptyFileIsAMistake) {
  EXPECT_EQ(PreferFrom("# nothing\n"), kUsage);
  EXPECT_THAT(err_, StartsWith("standard input: found no shard"));
}

TEST_F(PreferCommandTest, WhatTheControlPlaneRefusesIsNamedByItsLine) {
  admin_.prefer_refusal = {grpc::StatusCode::INVALID_ARGUMENT,
                           "preferences[1].shard: found \"z\"; allowed: a shard of the app\n"
                           "preferences[2].region: found \"mars\" (unknown region)"};
  const std::string file = WriteFile("regions.txt", "# x\ns-1 eu\n\nz eu\ns-3 mars\n");
  EXPECT_EQ(Run({"prefer", "--file", file, "--app", "kv"}), kUsage);
  EXPECT_EQ(err_, absl::StrCat(file, ":4: shard: found \"z\"; allowed: a shard of the app\n", file,
                               ":5: region: found \"mars\" (unknown region)\n"));
  admin_.prefer_refusal = {grpc::StatusCode::INVALID_ARGUMENT,
                           "preferences[0].shard: found \"z\"; allowed: a shard of the app"};
  EXPECT_EQ(Run({"prefer", "z", "eu", "--app", "kv"}), kUsage);
  EXPECT_EQ(err_, "shard: found \"z\"; allowed: a shard of the app\n");
}

TEST_F(PreferCommandTest, AMillionLinesAreReadAndSent) {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) absl::StrAppend(&text, "s-", i, " eu\n");
  admin_.prefer_refusal = {grpc::StatusCode::RESOURCE_EXHAUSTED, "too much"};
  EXPECT_EQ(PreferFrom(text), kRefused);
  EXPECT_THAT(err_, HasSubstr("too much"));
}

TEST_F(PreferCommandTest, WhichShardsMustBeSaid) {
  EXPECT_EQ(Run({"prefer", "--app", "kv"}), kUsage);
  EXPECT_THAT(err_, HasSubstr("SHARD REGION, or --file FILE"));
  EXPECT_EQ(Run({"prefer", "s-1", "--app", "kv"}), kUsage);
  EXPECT_EQ(Run({"prefer", "s-1", "eu", "--file", "x"}), kUsage);
  EXPECT_EQ(Run({"prefer", "s-1", "eu", "--replace"}), kUsage) << "of a file only";
}

TEST_F(PreferCommandTest, DescribeAppShowsHowFarEachRegionIs) {
  admin_.apps = FromText<v1::GetAppsResponse>(R"(
      apps { spec { name: 'kv' }
             preferred_regions { region: 'eu' shards: 400 ordered: 390 met: 12 servers_live: 3 }
             preferred_regions { region: 'mars' shards: 1 }
             preferred_regions { region: 'us' shards: 5 ordered: 5 met: 2 servers_live: 1
                                 heaviest: 50 heaviest_missing: 3 }
             preferred_regions { region: 'va' shards: 5 ordered: 5 met: 5 servers_live: 1
                                 heaviest: 50 }
             preferences_who: 'jo' preferences_since_ms: 1772366400000 })");
  EXPECT_EQ(Run({"describe", "app", "kv"}), kOk);
  EXPECT_THAT(out_, HasSubstr("Preferred regions:  (last ordered 2026-03-01T12:00:00.000Z, by jo)\n"
                              "  eu  400 shards, 12 there; 390 ordered\n"
                              "  mars  1 shard, 0 there; 0 ordered; no server of the app is there "
                              "now\n"
                              "  us  5 shards, 2 there; 5 ordered; weights up to 50, up to 3 of "
                              "those that are not there\n"
                              "  va  5 shards, 5 there; 5 ordered; weights up to 50\n"));
}

TEST_F(PreferCommandTest, DescribeShardShowsItsRegion) {
  admin_.shards = FromText<v1::GetShardsResponse>(
      "shards { shard: 's-1' preferred_region: 'eu' preference_ordered: true }");
  EXPECT_EQ(Run({"describe", "shard", "s-1", "--app", "kv"}), kOk);
  EXPECT_THAT(out_, HasSubstr("eu, as ordered; no replica there serves\n"));
  admin_.shards.mutable_shards(0)->set_preference_weight(1);
  EXPECT_EQ(Run({"describe", "shard", "s-1", "--app", "kv"}), kOk);
  EXPECT_THAT(out_, HasSubstr("eu, as ordered; no replica there serves\n"));
  admin_.shards.mutable_shards(0)->set_preference_weight(7);
  EXPECT_EQ(Run({"describe", "shard", "s-1", "--app", "kv"}), kOk);
  EXPECT_THAT(out_, HasSubstr("eu, as ordered, weight 7; no replica there serves\n"));
}

}  // namespace
}  // namespace shardmanager::cli
