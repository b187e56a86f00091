// What operators do by hand, against a cell that serves.
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class LeversTest : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    SM_ASSERT_OK(StartServing(3, 12));
  }
  // Who serves the shard, of a map in which all are served.
  static std::string OwnerOf(const local::MapView& map, const std::string& shard) {
    for (const local::MapView::Shard& one : map.shards) {
      if (one.id == shard && one.servers.size() == 1) return map.servers.at(one.servers.front());
    }
    return "";
  }
  static std::string AnotherThan(const std::string& server) {
    return server == "kv-1" ? "kv-2" : "kv-1";
  }
  bool AwaitOwner(const std::string& shard, const std::string& server) {
    return map_->WaitFor([&](const local::MapView& map) { return OwnerOf(map, shard) == server; },
                         kPatience);
  }
};

TEST_F(LeversTest, AShardIsMovedWhereTheOperatorWantsIt) {
  const local::MapView before = map_->view();
  const std::string shard = before.shards.front().id;
  const std::string from = OwnerOf(before, shard);
  const std::string to = AnotherThan(from);
  const std::vector<std::string> move = {"move", "shard", shard, "--to", to, "--app", "kv"};

  std::vector<std::string> dry_run = move;
  dry_run.emplace_back("--dry-run");
  const auto preview = cluster_->Shardctl(dry_run);
  EXPECT_EQ(preview.exit_code, 0) << preview.output;
  EXPECT_THAT(preview.output,
              AllOf(HasSubstr("- replica on " + from), HasSubstr("nothing was changed"),
                    HasSubstr("+ replica on " + to)));

  ASSERT_EQ(cluster_->Shardctl({"pin", "shard", shard, "--app", "kv"}).exit_code, 0);
  const auto refused = cluster_->Shardctl(move);
  EXPECT_EQ(refused.exit_code, 1) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("the shard is pinned since"));
  ASSERT_EQ(cluster_->Shardctl({"unpin", "shard", shard, "--app", "kv"}).exit_code, 0);
  EXPECT_EQ(OwnerOf(map_->view(), shard), from) << "neither a preview nor a refusal moves it";

  const auto moved = cluster_->Shardctl(move);
  EXPECT_EQ(moved.exit_code, 0) << moved.output;
  EXPECT_THAT(moved.output, HasSubstr(absl::StrCat("moves from ", from, " to ", to)));
  EXPECT_TRUE(AwaitOwner(shard, to)) << map_->view().Describe();

  const auto history = cluster_->Shardctl({"watch", "--app", "kv", "--no-follow"});
  EXPECT_THAT(history.output, AllOf(HasSubstr("MoveShard"), HasSubstr("an operator asked for it"),
                                    Not(HasSubstr("Preview"))));
}

// One identifier, from the command through the leader to the servers, and back.
TEST_F(LeversTest, AnOperationIsFollowedThroughAllLogsAndTheHistory) {
  const std::vector<std::string> follow = {"history", "operation", "INC-4711"};
  const auto drained =
      cluster_->Shardctl({"drain", "server", "kv-3", "--operation-id", "INC-4711", "--wait"});
  ASSERT_EQ(drained.exit_code, 0) << drained.output;
  EXPECT_THAT(drained.output, HasSubstr("shardctl history operation INC-4711"));
  EXPECT_THAT(cluster_->Shardctl(follow).output,
              AllOf(HasSubstr("Drain {"), HasSubstr("DrainStarted"), HasSubstr("MoveStarted"),
                    HasSubstr("MoveFinished"), HasSubstr("Drained")));
  EXPECT_THAT(cluster_->control_plane().Log(),
              AllOf(HasSubstr("operation=INC-4711: Drain"), HasSubstr("operation=INC-4711 from")));
  EXPECT_THAT(cluster_->server("kv-3").Log(),
              AllOf(HasSubstr(": prepare-drop for operation INC-4711 (shard-"),
                    HasSubstr(": drop for operation INC-4711 (shard-")));
  EXPECT_THAT(cluster_->server("kv-1").Log() + cluster_->server("kv-2").Log(),
              HasSubstr(": add for operation INC-4711 (shard-"));

  const auto wrong =
      cluster_->Shardctl({"undrain", "server", "kv-3", "--operation-id", "my ticket"});
  EXPECT_EQ(wrong.exit_code, 2) << wrong.output;
  EXPECT_THAT(wrong.output,
              AllOf(HasSubstr("--operation-id"), HasSubstr("found \"my ticket\"; allowed: ")));
}

TEST_F(LeversTest, ADryRunOfADrainNamesWhatItIsAboutAndChangesNothing) {
  const auto preview = cluster_->Shardctl({"drain", "server", "kv-3", "--dry-run"});
  EXPECT_EQ(preview.exit_code, 0) << preview.output;
  EXPECT_THAT(preview.output, AllOf(HasSubstr("+ drains scope { server: \"kv-3\" }"),
                                    HasSubstr("4 replicas on 1 server of app \"kv\"")));
  const auto wrong = cluster_->Shardctl({"drain", "server", "kv-9", "--dry-run"});
  EXPECT_EQ(wrong.exit_code, 4) << wrong.output;
  EXPECT_THAT(cluster_->Shardctl({"describe", "app", "kv"}).output, Not(HasSubstr("Drain")));
}

TEST_F(LeversTest, WithItsBalancePausedAnAppIsDrainedAndNotBalanced) {
  ASSERT_EQ(cluster_->Shardctl({"pause", "app", "kv", "--only-balance"}).exit_code, 0);
  ASSERT_EQ(cluster_->Shardctl({"drain", "server", "kv-3", "--wait"}).exit_code, 0);
  ASSERT_EQ(cluster_->Shardctl({"undrain", "server", "kv-3"}).exit_code, 0);
  EXPECT_THAT(cluster_->Shardctl({"explain", "kv", map_->view().shards.front().id}).output,
              HasSubstr("it is not moved for balance before"));
  EXPECT_EQ(map_->view().counts().count("kv-3"), 0u) << map_->view().Describe();
  ASSERT_EQ(cluster_->Shardctl({"resume", "app", "kv"}).exit_code, 0);
  EXPECT_TRUE(map_->WaitFor([](const local::MapView& map) { return map.balanced(3); }, kPatience))
      << map_->view().Describe();
}

TEST_F(LeversTest, AServerThatDoesNotComeBackIsForgottenAndItsLivesAreCountedOn) {
  const std::vector<std::string> forget = {"forget", "server", "kv-3", "--app", "kv"};
  const auto live = cluster_->Shardctl(forget);
  EXPECT_EQ(live.exit_code, 1) << live.output;
  EXPECT_THAT(live.output, HasSubstr("server \"kv-3\" is live (life 1): stop it first"));
  const auto unknown = cluster_->Shardctl({"forget", "server", "kv-9", "--app", "kv"});
  EXPECT_EQ(unknown.exit_code, 4) << unknown.output;

  ASSERT_EQ(cluster_->Shardctl({"drain", "server", "kv-3", "--wait"}).exit_code, 0);
  ASSERT_EQ(cluster_->server("kv-3").Stop(), 0);
  const auto drained = cluster_->Shardctl(forget);
  EXPECT_EQ(drained.exit_code, 1) << drained.output;
  EXPECT_THAT(drained.output, HasSubstr("`shardctl undrain server kv-3` first"));
  ASSERT_EQ(cluster_->Shardctl({"undrain", "server", "kv-3"}).exit_code, 0);

  std::vector<std::string> dry_run = forget;
  dry_run.emplace_back("--dry-run");
  const auto preview = cluster_->Shardctl(dry_run);
  EXPECT_EQ(preview.exit_code, 0) << preview.output;
  EXPECT_THAT(preview.output,
              AllOf(HasSubstr("+ registration.forgotten: true"), HasSubstr("nothing was changed")));
  const std::vector<std::string> servers = {"get", "servers", "--app", "kv"};
  EXPECT_THAT(cluster_->Shardctl(servers).output, HasSubstr("kv-3"));

  const auto forgotten = cluster_->Shardctl(forget);
  EXPECT_EQ(forgotten.exit_code, 0) << forgotten.output;
  EXPECT_THAT(forgotten.output, HasSubstr("kv-3 is forgotten"));
  EXPECT_THAT(cluster_->Shardctl(servers).output, Not(HasSubstr("kv-3")));
  EXPECT_THAT(cluster_->Shardctl(forget).output, HasSubstr("was forgotten before"));
  EXPECT_THAT(cluster_->Shardctl({"history", "server", "kv-3", "--app", "kv"}).output,
              HasSubstr("ServerForgotten"));

  SM_ASSERT_OK(cluster_->RestartServer("kv-3"));
  EXPECT_TRUE(map_->WaitFor([](const local::MapView& map) { return map.balanced(3); }, kPatience))
      << map_->view().Describe();
  EXPECT_THAT(cluster_->Shardctl({"describe", "server", "kv-3", "--app", "kv"}).output,
              ContainsRegex("Incarnation: +4"))
      << "one for its good-bye, and one for having been forgotten";
}

TEST_F(LeversTest, WhatIsNotQuarantinedIsSaidNotToBe) {
  const auto refused = cluster_->Shardctl({"unquarantine", "server", "kv-1", "--app", "kv"});
  EXPECT_EQ(refused.exit_code, 1) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("server \"kv-1\" is not quarantined"));
}

}  // namespace
}  // namespace shardmanager::testing
