// Something that the cell leans on is away: the control plane, ZooKeeper, the relay.
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/local_cluster/ports.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using local::MapView;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr int kShards = 12;

class OutageTest : public ClusterTest {
 protected:
  absl::Status Serve() { return StartServing(/*servers=*/3, kShards); }
};

TEST_F(OutageTest, ServersAndClientsGoOnWithoutControlPlane) {
  SM_ASSERT_OK(Serve());
  cluster_->control_plane().Kill();
  for (int shard = 0; shard < kShards; ++shard) {
    SM_ASSERT_OK(client_->Put(KeyOf(shard), "no control plane").status);
  }
  // Also when the relay has gone as well: the router keeps its last map.
  cluster_->discovery().Kill();
  for (int shard = 0; shard < kShards; ++shard) {
    const KvAnswer got = client_->Get(KeyOf(shard));
    SM_ASSERT_OK(got.status);
    EXPECT_THAT(got.value, Optional(std::string("no control plane")));
  }
}

TEST_F(OutageTest, NewClientStartsFromARelayWithoutControlPlane) {
  SM_ASSERT_OK(Serve());
  cluster_->control_plane().Kill();
  KvClient late(cluster_->discovery_endpoint());
  SM_ASSERT_OK(late.WaitReady(kPatience));
  for (int shard = 0; shard < kShards; ++shard) {
    SM_ASSERT_OK(late.Put(KeyOf(shard), "late").status);
    EXPECT_THAT(late.Get(KeyOf(shard)).value, Optional(std::string("late")));
  }
}

TEST_F(OutageTest, NewClientStartsFromTheMapCacheWithoutControlPlaneAndDiscovery) {
  SM_ASSERT_OK(Serve());
  std::string cache = ::testing::TempDir() + "shard_maps_XXXXXX";
  ASSERT_NE(mkdtemp(cache.data()), nullptr);
  {
    KvClient early(cluster_->discovery_endpoint(), "kv", cache);
    SM_ASSERT_OK(early.WaitReady(kPatience));
  }
  cluster_->control_plane().Kill();
  cluster_->discovery().Kill();
  KvClient without(cluster_->discovery_endpoint());
  EXPECT_FALSE(without.WaitReady(std::chrono::seconds(1)).ok()) << "nobody else can tell";
  KvClient late(cluster_->discovery_endpoint(), "kv", cache);
  SM_ASSERT_OK(late.WaitReady(kPatience));
  for (int shard = 0; shard < kShards; ++shard) {
    SM_ASSERT_OK(late.Put(KeyOf(shard), "from the cache").status);
    EXPECT_THAT(late.Get(KeyOf(shard)).value, Optional(std::string("from the cache")));
  }
  std::filesystem::remove_all(cache);
}

// Findings 9, 16 and 17 of the attack: all was reported as well while ZooKeeper was dead, and a
// command that was reported as failed was carried out when it was back.
TEST_F(OutageTest, WhatNobodyKnowsIsNotReportedWhileZooKeeperIsAway) {
  SM_ASSERT_OK(Serve());
  cluster_->zookeeper().Kill();
  // At first the leader may still lead; either way it changes nothing later.
  const auto deleted = cluster_->Shardctl({"--timeout", "3s", "delete", "app", "kv", "--yes"});
  EXPECT_NE(deleted.exit_code, 0);
  EXPECT_THAT(deleted.output, HasSubstr("ZooKeeper"));
  ASSERT_TRUE(events_->WaitFor("LeaderCutOff", "", TimePoint(), kPatience));
  const auto apps = cluster_->Shardctl({"get", "apps"});
  EXPECT_NE(apps.exit_code, 0);
  EXPECT_THAT(apps.output, HasSubstr("unknown since"));
  EXPECT_THAT(cluster_->Shardctl({"status"}).output, HasSubstr("leader (cut off from ZooKeeper"));

  SM_ASSERT_OK(cluster_->StartZookeeper());
  SM_ASSERT_OK(cluster_->admin().AwaitLeading(kPatience));
  const ProbeResult probe = ProbeShards(*client_, kShards, kPatience);
  EXPECT_TRUE(probe.ok()) << probe.unserved;
  EXPECT_THAT(cluster_->Shardctl({"get", "apps"}).output, HasSubstr("12/12"));
}

void RemoveBelow(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::filesystem::remove_all(entry.path());
  }
}

// Finding 10 of the attack: the relay kept the map of the dead cell, whose versions are higher.
TEST_F(OutageTest, ClientsOfARelayFollowACellThatIsMadeAnew) {
  SM_ASSERT_OK(Serve());
  cluster_->control_plane().Kill();
  SM_ASSERT_OK(cluster_->StartControlPlane());
  ASSERT_TRUE(map_->WaitFor([](const MapView& v) { return v.version.first == 2; }, kPatience))
      << map_->view().Describe();

  cluster_->control_plane().Kill();
  for (const std::string& name : cluster_->server_names()) cluster_->server(name).Kill();
  cluster_->zookeeper().Kill();
  RemoveBelow(cluster_->data_folder());
  RemoveBelow(cluster_->folder() + "/zookeeper/version-2");

  SM_ASSERT_OK(cluster_->StartZookeeper());
  SM_ASSERT_OK(cluster_->StartControlPlane());
  SM_ASSERT_OK(cluster_->admin().AwaitLeading(kPatience));
  SM_ASSERT_OK(cluster_->admin().Apply(KvSpec(kShards)).status());
  for (const std::string& name : cluster_->server_names()) {
    SM_ASSERT_OK(cluster_->RestartServer(name));
  }
  const ProbeResult probe = ProbeShards(*client_, kShards, kPatience);
  EXPECT_TRUE(probe.ok()) << probe.unserved;
  EXPECT_TRUE(map_->WaitFor([](const MapView& v) { return v.version.first == 1 && v.all_served(); },
                            kPatience))
      << map_->view().Describe();
}

TEST_F(OutageTest, RestartedServerServesItsShardsFromZooKeeperAlone) {
  // A port of its own, so that clients find it with the map they have.
  SM_ASSERT_OK(cluster_->StartCore());
  const std::string listen = absl::StrCat("127.0.0.1:", local::StablePort());
  SM_ASSERT_OK(cluster_->StartServer({.name = "kv-1", .listen = listen}));
  SM_ASSERT_OK(ServeShards(kShards));
  for (int shard = 0; shard < kShards; ++shard) {
    SM_ASSERT_OK(client_->Put(KeyOf(shard), "kept").status);
  }
  cluster_->control_plane().Kill();
  cluster_->server("kv-1").Kill();
  SM_ASSERT_OK(cluster_->RestartServer("kv-1"));
  // Its former life's session must expire first.
  const ProbeResult probe = ProbeShards(*client_, kShards, failover_bound());
  EXPECT_TRUE(probe.ok()) << probe.unserved;
  EXPECT_THAT(client_->Get(KeyOf(0)).value, Optional(std::string("kept")));
}

TEST_F(OutageTest, ControlPlaneTakesUpAfterARestartWhereItWas) {
  SM_ASSERT_OK(Serve());
  const std::map<std::string, size_t> before = map_->view().counts();
  cluster_->control_plane().Kill();
  SM_ASSERT_OK(cluster_->StartControlPlane());
  const auto version = map_->view().version;
  ASSERT_TRUE(
      map_->WaitFor([&](const MapView& v) { return v.version.first > version.first; }, kPatience))
      << "no map of the new leader: " << map_->view().Describe();
  ASSERT_TRUE(map_->WaitFor([](const MapView& v) { return v.all_served(); }, kPatience))
      << map_->view().Describe();
  EXPECT_EQ(map_->view().counts(), before) << "nothing needed to move";
}

TEST_F(OutageTest, ServerLostWhileTheControlPlaneIsAwayIsReplacedOnceItIsBack) {
  SM_ASSERT_OK(Serve());
  cluster_->control_plane().Kill();
  cluster_->server("kv-2").Kill();
  SM_ASSERT_OK(cluster_->StartControlPlane());
  // Two sessions must expire, at the same time: the leader's and the server's.
  const ProbeResult probe = ProbeShards(*client_, kShards, failover_bound());
  EXPECT_TRUE(probe.ok()) << probe.unserved;
}

TEST_F(OutageTest, EverythingWaitsForZooKeeperAndThenServes) {
  SM_ASSERT_OK(cluster_->StartControlPlane());
  SM_ASSERT_OK(cluster_->StartDiscovery());
  SM_ASSERT_OK(StartServers(2));
  SM_ASSERT_OK(cluster_->StartZookeeper());
  SM_ASSERT_OK(ServeShards(kShards));
  for (const std::string& name : cluster_->server_names()) {
    EXPECT_TRUE(cluster_->server(name).running()) << name;
  }
}

TEST_F(OutageTest, ShardsAreServedAgainAfterZooKeeperComesBack) {
  SM_ASSERT_OK(Serve());
  for (int shard = 0; shard < kShards; ++shard) {
    SM_ASSERT_OK(client_->Put(KeyOf(shard), "kept").status);
  }
  cluster_->zookeeper().Kill();
  // Longer than the lease: every server stops by itself.
  const auto stopped = [this] {
    return !client_->Get(KeyOf(0), std::chrono::milliseconds(200)).status.ok();
  };
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!stopped() && std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_TRUE(stopped()) << "served on without a lease";
  SM_ASSERT_OK(cluster_->StartZookeeper());
  const ProbeResult probe = ProbeShards(*client_, kShards, kPatience);
  EXPECT_TRUE(probe.ok()) << probe.unserved;
  EXPECT_THAT(client_->Get(KeyOf(0)).value, Optional(std::string("kept")));
}

}  // namespace
}  // namespace shardmanager::testing
