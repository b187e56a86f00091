// `shardctl snapshot` and `shardctl simulate`. (What follows from a change: tests/whatif.)
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/table.h"
#include "cli/what_if.h"
#include "gmock/gmock.h"
#include "model/spec/spec_validation.h"
#include "tests/cli/shardctl_fixture.h"

namespace shardmanager::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Two servers in each of two regions; each of four shards has its only replica on another server.
class SimulateCommandTest : public ShardctlTest {
 protected:
  SimulateCommandTest() {
    v1::AppStatus& app = *admin_.apps.add_apps();
    v1::AppSpec spec;
    spec.set_name("kv");
    spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
    for (int i = 0; i < 4; ++i) spec.mutable_key_space()->add_shards()->set_id(Shard(i));
    *app.mutable_spec() = WithDefaults(spec);
    app.set_shards(4);
    app.set_shards_served(4);
    app.set_replicas_serving(4);
    app.set_replicas_wanted(4);
    app.set_servers_live(4);
    for (int i = 0; i < 4; ++i) {
      v1::ServerStatus& server = *admin_.servers.add_servers();
      server.set_app("kv");
      server.set_server(absl::StrCat("kv-", i));
      server.set_state("live");
      server.set_incarnation(1);
      server.set_endpoint(absl::StrCat("10.0.0.", i, ":1"));
      server.mutable_fault_domain()->set_region(i < 2 ? "eu" : "us");
      server.set_replicas(1);
      server.set_replicas_serving(1);
      v1::ShardStatus& shard = *admin_.shards.add_shards();
      shard.set_shard(Shard(i));
      shard.set_state("serving");
      v1::ReplicaStatus& replica = *shard.add_replicas();
      replica.set_server(absl::StrCat("kv-", i));
      replica.set_role(v1::PRIMARY);
      replica.set_epoch(uint64_t{7} << 32 | 1);
      replica.set_state("serving");
    }
  }
  static std::string Shard(int i) { return absl::StrCat("s-", i); }
};

TEST_F(SimulateCommandTest, ShowsWhatFollowsBesideWhatIs) {
  EXPECT_EQ(Run({"simulate", "--lose", "region=us"}), kOk) << err_;
  EXPECT_THAT(out_, StartsWith("App:      kv, as it was 2026-03-01T12:02:03.000Z\n"
                               "Change:   lose region us\n"
                               "Served:   all 4 shards, after 1s\n"
                               "At rest:  after 1s\n"
                               "Moves:    2 loads of shards begun; 2 of 4 replicas stand elsewhere "
                               "or are new, 2 are no more, 2 primaries changed\n"));
  EXPECT_THAT(out_, HasSubstr("servers live                            4        2       -2\n"));
  EXPECT_THAT(out_, HasSubstr("us: replicas                            2        0       -2\n"));
}

TEST_F(SimulateCommandTest, ASnapshotCanBeAskedLaterWithoutAControlPlane) {
  const std::string file = testing::TempDir() + "/kv.json";
  EXPECT_EQ(Run({"snapshot", "--app", "kv", "-o", file}), kOk) << err_;
  EXPECT_EQ(out_, absl::StrCat("kv: 4 shards on 4 servers written to ", file, "\n"));
  EXPECT_EQ(Run({"simulate", "--lose", "server=kv-3"}), kOk);
  const std::string live = out_;
  EXPECT_EQ(
      RunAsIs({"--server", "127.0.0.1:1", "simulate", "--snapshot", file, "--lose", "server=kv-3"}),
      kOk)
      << err_;
  EXPECT_EQ(out_, live);
}

TEST_F(SimulateCommandTest, AsksAndChangesNothing) {
  EXPECT_EQ(Run({"simulate", "--app", "kv", "--drain", "server=kv-0", "--add-servers", "2@us",
                 "--load-factor", "1.5"}),
            kOk)
      << err_;
  EXPECT_THAT(admin_.requests(), ElementsAre("GetApps{app: \"kv\"}", "GetServers{app: \"kv\"}",
                                             "GetShards{app: \"kv\"}", "GetApps{app: \"kv\"}"));
  EXPECT_THAT(out_, HasSubstr("Change:   drain server kv-0; 2 servers join in us; loads are 1.5 "
                              "times as high\n"));
}

TEST_F(SimulateCommandTest, ProgramsGetThePlacementIfTheyAskForIt) {
  EXPECT_EQ(Run({"simulate", "--lose", "region=us", "-o", "json"}), kOk);
  EXPECT_THAT(out_, HasSubstr("\"primaries_changed\": 2"));
  EXPECT_THAT(out_, Not(HasSubstr("\"placement\"")));
  EXPECT_EQ(Run({"simulate", "--lose", "region=us", "-o", "json", "--placement"}), kOk);
  EXPECT_THAT(out_, HasSubstr("\"placement\""));
}

TEST_F(SimulateCommandTest, CapacityNamesTheServersThatEachRegionNeeds) {
  EXPECT_EQ(Run({"capacity", "--app", "kv"}), kOk) << err_;
  EXPECT_EQ(out_,
            "App:     kv, as it was 2026-03-01T12:02:03.000Z\n"
            "Needed:  no more servers: any one region may be lost\n"
            "\n"
            "REGION   SERVERS   NEEDED   FULLEST IF IT IS LOST\n"
            "eu       2         2        no server has a capacity\n"
            "us       2         2        no server has a capacity\n");
  EXPECT_EQ(Run({"capacity", "--load-factor", "-1"}), kUsage);
  EXPECT_EQ(err_, "error: --load-factor: found -1; allowed: above 0 to 1000\n");
  admin_.servers.mutable_servers()->DeleteSubrange(2, 2);
  admin_.shards.mutable_shards()->DeleteSubrange(2, 2);
  EXPECT_EQ(Run({"capacity", "--app", "kv"}), kRefused);
  EXPECT_EQ(
      err_,
      "error: found live servers in 1 region; allowed: two or more, so that the others can take "
      "the shards of a lost one\n");
}

TEST_F(SimulateCommandTest, WordsThatAreWrongAreNamedAndNobodyIsAsked) {
  EXPECT_EQ(Run({"simulate", "--lose", "us"}), kUsage);
  EXPECT_EQ(err_,
            "error: --lose: found \"us\"; allowed: server=NAME, rack=REGION/DATACENTER/RACK, "
            "datacenter=REGION/DATACENTER or region=NAME\n");
  EXPECT_EQ(Run({"simulate", "--add-servers", "two"}), kUsage);
  EXPECT_EQ(err_,
            "error: --add-servers: found \"two\"; allowed: COUNT or COUNT@REGION, as 4@eu-west\n");
  EXPECT_EQ(Run({"simulate", "--load-factor", "0"}), kUsage);
  EXPECT_EQ(err_, "error: --load-factor: found 0; allowed: above 0 to 1000\n");
  EXPECT_THAT(admin_.requests(), IsEmpty());
}

TEST_F(SimulateCommandTest, APlaceWithoutServersIsRefused) {
  EXPECT_EQ(Run({"simulate", "--lose", "region=mars"}), kUsage);
  EXPECT_EQ(err_,
            "error: lose[0]: found region mars, where no server is live; allowed: a place "
            "with live servers\n");
}

TEST_F(SimulateCommandTest, AFileThatIsNoSnapshotIsRefused) {
  const std::string file = WriteFile("wrong.json", "{\"app\": {\"spec\": {\"nam\": \"kv\"}}}");
  EXPECT_EQ(Run({"simulate", "--snapshot", file}), kUsage);
  EXPECT_THAT(err_, HasSubstr("unknown field \"nam\" (did you mean \"name\"?)"));
  EXPECT_EQ(Run({"simulate", "--snapshot", "/nowhere.json"}), kUsage);
  EXPECT_THAT(err_, HasSubstr("/nowhere.json"));
}

// Of four shards, three are served in the end.
class WhatIfTextTest : public testing::Test {
 protected:
  WhatIfTextTest() {
    report_.mutable_before()->set_shards(4);
    report_.mutable_before()->set_shards_served(4);
    report_.mutable_after()->set_shards(4);
    report_.mutable_after()->set_shards_served(3);
    report_.set_at_rest(true);
  }
  // The first line that has these words.
  std::string Line(const std::string& words, bool colour = false) const {
    const std::string text = WhatIfText({}, {}, report_, colour);
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      if (absl::StrContains(line, words)) return std::string(line);
    }
    return "";
  }
  v1::WhatIfReport report_;
};

TEST_F(WhatIfTextTest, WhatWasStandsBeforeWhatIs) {
  EXPECT_THAT(Line("shards served"), testing::MatchesRegex("shards served +4 +3 +-1"));
}

TEST_F(WhatIfTextTest, ShardsThatAreNotServedAreAnAlarmAndOthersAreNot) {
  const Cell alarm = {"1 shard of 4 not served at the end", Tone::kBad};
  const Cell calm = {"all 4 shards, without a break", Tone::kGood};
  EXPECT_THAT(Line("Served:", /*colour=*/true), HasSubstr(Painted(alarm, /*colour=*/true)));
  report_.mutable_after()->set_shards_served(4);
  EXPECT_THAT(Line("Served:", /*colour=*/true), HasSubstr(Painted(calm, /*colour=*/true)));
}

TEST_F(WhatIfTextTest, PreferredRegionsAreComparedWhereThereAreAny) {
  EXPECT_EQ(Line("preferred region"), "");
  report_.mutable_before()->set_preferences(2);
  report_.mutable_before()->set_preferences_met(2);
  EXPECT_THAT(Line("preferred region"), testing::MatchesRegex("shards in their.* +2 +0 +-2"));
}

}  // namespace
}  // namespace shardmanager::cli
