// The main job: an app is applied, its shards are placed, served and found.
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using local::MapView;
using ::testing::HasSubstr;
using ::testing::Optional;

class ServingTest : public ClusterTest {};

TEST_F(ServingTest, AppliedAppIsServedAndKeepsWhatWasPut) {
  constexpr int kShards = 30;
  SM_ASSERT_OK(StartServing(3, kShards));

  std::set<std::string> servers;
  for (int shard = 0; shard < kShards; ++shard) {
    const KvAnswer put = client_->Put(KeyOf(shard), absl::StrCat("value ", shard));
    SM_ASSERT_OK(put.status);
    servers.insert(put.server);
  }
  for (int shard = 0; shard < kShards; ++shard) {
    const KvAnswer got = client_->Get(KeyOf(shard));
    SM_ASSERT_OK(got.status);
    EXPECT_THAT(got.value, Optional(absl::StrCat("value ", shard)));
  }
  EXPECT_EQ(servers.size(), 3u);
  for (const auto& [server, count] : map_->view().counts()) EXPECT_EQ(count, 10u) << server;
}

TEST_F(ServingTest, ServersThatCameBeforeTheAppServeItOnceItIsApplied) {
  SM_ASSERT_OK(cluster_->StartCore());
  SM_ASSERT_OK(StartServers(1));
  map_ = cluster_->WatchMap();
  SM_ASSERT_OK(cluster_->admin().Apply(KvSpec(4)).status());
  EXPECT_TRUE(map_->WaitFor([](const MapView& v) { return v.all_served(); }, kPatience))
      << map_->view().Describe();
}

TEST_F(ServingTest, NewServerGetsItsShareAndNoRequestIsLost) {
  constexpr int kShards = 30;
  SM_ASSERT_OK(StartServing(2, kShards));
  for (int shard = 0; shard < kShards; ++shard) {
    SM_ASSERT_OK(client_->Put(KeyOf(shard), "before").status);
  }
  SM_ASSERT_OK(cluster_->StartServer({.name = "kv-3"}));
  EXPECT_TRUE(map_->WaitFor(
      [](const MapView& v) { return v.all_served() && v.counts()["kv-3"] == 10; }, kPatience))
      << map_->view().Describe();
  for (int shard = 0; shard < kShards; ++shard) {
    const KvAnswer got = client_->Get(KeyOf(shard));
    SM_ASSERT_OK(got.status);
    EXPECT_THAT(got.value, Optional(std::string("before")));
  }
}

TEST_F(ServingTest, DrainedServerIsEmptiedAndUsedAgainAfterwards) {
  constexpr int kShards = 12;
  SM_ASSERT_OK(StartServing(3, kShards));

  const auto drained =
      cluster_->Shardctl({"drain", "server", "kv-2", "--wait", "--reason", "new disk"});
  EXPECT_EQ(drained.exit_code, 0) << drained.output;
  EXPECT_THAT(drained.output, HasSubstr("nothing is left to move off server kv-2"));
  EXPECT_THAT(cluster_->Shardctl({"describe", "server", "kv-2"}).output,
              AllOf(HasSubstr("drained"), HasSubstr("empty (new disk)")));
  EXPECT_THAT(cluster_->Shardctl({"describe", "app", "kv"}).output,
              HasSubstr("server kv-2 since "));
  EXPECT_TRUE(map_->WaitFor(
      [](const MapView& v) { return v.all_served() && v.counts().count("kv-2") == 0; }, kPatience))
      << map_->view().Describe();

  const auto wrong = cluster_->Shardctl({"drain", "server", "kv-9"});
  EXPECT_EQ(wrong.exit_code, 4);
  EXPECT_THAT(wrong.output,
              HasSubstr("no server kv-9; known: server kv-1, server kv-2, server kv-3"));

  EXPECT_EQ(cluster_->Shardctl({"undrain", "server", "kv-2"}).exit_code, 0);
  EXPECT_TRUE(map_->WaitFor(
      [](const MapView& v) { return v.all_served() && v.counts()["kv-2"] == 4; }, kPatience))
      << map_->view().Describe();
}

TEST_F(ServingTest, DeletedAppIsServedNoMoreAndMayBeAppliedAgain) {
  SM_ASSERT_OK(cluster_->StartCore());
  SM_ASSERT_OK(StartServers(2));
  SM_ASSERT_OK(ServeShards(6));
  SM_ASSERT_OK(cluster_->admin().Delete("kv"));
  EXPECT_TRUE(map_->WaitFor([](const MapView& v) { return v.served() == 0; }, kPatience))
      << map_->view().Describe();

  // Refused as long as some of it is left.
  absl::Status again;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  do {
    again = cluster_->admin().Apply(KvSpec(8)).status();
  } while (absl::IsFailedPrecondition(again) && std::chrono::steady_clock::now() < deadline);
  SM_ASSERT_OK(again);
  EXPECT_TRUE(map_->WaitFor([](const MapView& v) { return v.all_served() && v.shards.size() == 8; },
                            kPatience))
      << map_->view().Describe();
}

// From the server's own measure to the plan, and to what operators are told.
TEST_F(ServingTest, BalancesByReportedLoadAndExplainsIt) {
  SM_ASSERT_OK(cluster_->StartCore());
  SM_ASSERT_OK(StartServers(2));
  SM_ASSERT_OK(ServeShards(10));
  SM_ASSERT_OK(client_->Put(KeyOf(0), std::string(2'000'000, 'v')).status);
  v1::AppSpec spec = KvSpec(10);
  spec.mutable_moves()->set_collect_interval_ms(1'000);
  spec.add_metrics()->set_name("bytes");
  SM_ASSERT_OK(cluster_->admin().Apply(spec).status());
  // The others leave the server of the fat one.
  EXPECT_TRUE(map_->WaitFor(
      [](const MapView& v) {
        return v.all_served() && (v.counts()["kv-1"] == 1 || v.counts()["kv-2"] == 1);
      },
      kPatience))
      << map_->view().Describe();

  const std::string fat = "shard-0";
  const auto explained = cluster_->admin().ExplainShard("kv", fat);
  SM_ASSERT_OK(explained.status());
  ASSERT_EQ(explained->replicas_size(), 1);
  ASSERT_EQ(explained->replicas(0).loads_size(), 1);
  EXPECT_GT(explained->replicas(0).loads(0).used(), 1e6);
  ASSERT_EQ(explained->candidates_size(), 1);
  EXPECT_NE(explained->candidates(0).verdict(), "better");
  EXPECT_EQ(explained->servers_considered(), 2u);
  const auto here = cluster_->admin().ExplainShard("kv", fat, explained->replicas(0).server());
  SM_ASSERT_OK(here.status());
  EXPECT_EQ(here->candidates(0).verdict(), "holds");

  EXPECT_EQ(cluster_->admin().ExplainShard("none", fat).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(cluster_->admin().ExplainShard("kv", "none").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(cluster_->admin().ExplainShard("kv", fat, "none").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(ServingTest, WrongSpecIsRefusedWithItsPathAndChangesNothing) {
  SM_ASSERT_OK(cluster_->StartCore());
  SM_ASSERT_OK(StartServers(1));
  SM_ASSERT_OK(ServeShards(4));
  v1::AppSpec wrong = KvSpec(4);
  wrong.mutable_key_space()->add_split_points("00001");  // not ascending
  const absl::Status refused = cluster_->admin().Apply(wrong).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("key_space.split_points[3]"));

  const absl::Status lossy = cluster_->admin().Apply(KvSpec(3)).status();
  EXPECT_EQ(lossy.code(), absl::StatusCode::kFailedPrecondition);

  const auto apps = cluster_->admin().GetApps();
  SM_ASSERT_OK(apps.status());
  EXPECT_EQ(apps->apps(0).shards(), 4u);
  EXPECT_EQ(apps->apps(0).shards_served(), 4u);
}

TEST_F(ServingTest, ServerThatSaysGoodByeIsReplacedAtOnce) {
  constexpr int kShards = 12;
  SM_ASSERT_OK(StartServing(3, kShards));
  EXPECT_EQ(cluster_->server("kv-1").Stop(), 0);
  // Sooner than its session could have expired.
  const auto bound = std::chrono::milliseconds(cluster_->options().session_timeout_ms / 2);
  const ProbeResult probe = ProbeShards(*client_, kShards, bound);
  EXPECT_TRUE(probe.ok()) << probe.unserved;
}

}  // namespace
}  // namespace shardmanager::testing
