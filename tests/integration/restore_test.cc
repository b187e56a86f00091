// ZooKeeper is restored from a backup, as docs/operations.md says.
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using local::MapView;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kShards = 12;

class RestoreTest : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    SM_ASSERT_OK(StartServing(3, kShards));
  }

  std::string data() const { return cluster_->folder() + "/zookeeper/version-2"; }
  std::string backup() const { return cluster_->folder() + "/backup"; }

  void BackUp() {
    cluster_->zookeeper().Kill();
    std::filesystem::copy(data(), backup(), std::filesystem::copy_options::recursive);
    SM_ASSERT_OK(cluster_->StartZookeeper());
    SM_ASSERT_OK(cluster_->admin().AwaitLeading(kPatience));
  }
  // A later leader moves all shards of one server, under epochs that the backup does not know;
  // the application's storage does.
  void LiveOn() {
    for (uint64_t leader = 2; leader <= 4; ++leader) {
      cluster_->control_plane().Stop();
      SM_ASSERT_OK(cluster_->StartControlPlane());
      const auto taken_over = [&](const MapView& v) {
        return v.version.first >= leader && v.all_served();
      };
      ASSERT_TRUE(map_->WaitFor(taken_over, kPatience)) << map_->view().Describe();
    }
    const auto drained = cluster_->Shardctl({"drain", "server", "kv-1", "--app", "kv", "--wait"});
    ASSERT_EQ(drained.exit_code, 0) << drained.output;
    ASSERT_TRUE(map_->WaitFor([](const MapView& v) { return v.all_served(); }, kPatience))
        << map_->view().Describe();
  }
  void StopServers() {
    for (const char* name : kServers) EXPECT_EQ(cluster_->server(name).Stop(), 0) << name;
  }
  void StartServers() {
    for (const char* name : kServers) SM_ASSERT_OK(cluster_->RestartServer(name));
  }
  // All that is stored is lost.
  void Empty() {
    cluster_->control_plane().Kill();
    cluster_->zookeeper().Kill();
    std::filesystem::remove_all(data());
    SM_ASSERT_OK(cluster_->StartZookeeper());
  }
  void Restore() {
    cluster_->control_plane().Kill();
    cluster_->zookeeper().Kill();
    std::filesystem::remove_all(data());
    std::filesystem::copy(backup(), data(), std::filesystem::copy_options::recursive);
    SM_ASSERT_OK(cluster_->StartZookeeper());
  }

  local::Cluster::CommandResult RaiseEpochsOr(const std::string& flag) {
    return cluster_->Shardctl({"cell", "raise-epochs", cluster_->options().cell, "--zookeeper",
                               cluster_->zookeeper_endpoint(), flag});
  }
  local::Cluster::CommandResult RaiseEpochs() { return RaiseEpochsOr("--by=10000"); }

  static constexpr const char* kServers[] = {"kv-1", "kv-2", "kv-3"};
};

TEST_F(RestoreTest, EveryShardIsServedOnceEpochsAreRaised) {
  BackUp();
  LiveOn();
  StopServers();
  Restore();
  const auto raised = RaiseEpochs();
  ASSERT_EQ(raised.exit_code, 0) << raised.output;
  EXPECT_THAT(raised.output, HasSubstr("leader epochs go on from 1000"));
  SM_ASSERT_OK(cluster_->StartControlPlane());
  StartServers();
  // With the relay and the client of before, which have maps of the future that was lost.
  const ProbeResult probe = ProbeShards(*client_, kShards, kPatience);
  EXPECT_TRUE(probe.ok()) << probe.unserved;
  EXPECT_TRUE(map_->WaitFor(
      [](const MapView& v) { return v.version.first > 10'000 && v.all_served(); }, kPatience))
      << map_->view().Describe();
}

// ZooKeeper came up empty at first, and somebody applied a spec to the cell that was made there.
TEST_F(RestoreTest, ItsMapsAreNewerThanThoseOfACellThatWasMadeMeanwhile) {
  BackUp();
  const int64_t made_ms = map_->view().cell_made_ms;
  StopServers();
  Empty();
  SM_ASSERT_OK(cluster_->StartControlPlane());
  SM_ASSERT_OK(cluster_->admin().AwaitLeading(kPatience));
  SM_ASSERT_OK(cluster_->admin().Apply(KvSpec(kShards)).status());
  ASSERT_TRUE(map_->WaitFor([&](const MapView& v) { return v.cell_made_ms > made_ms; }, kPatience));
  const int64_t meanwhile_ms = map_->view().cell_made_ms;
  Restore();
  const auto raised = RaiseEpochs();
  ASSERT_EQ(raised.exit_code, 0) << raised.output;
  SM_ASSERT_OK(cluster_->StartControlPlane());
  StartServers();
  EXPECT_TRUE(map_->WaitFor(
      [&](const MapView& v) { return v.cell_made_ms > meanwhile_ms && v.all_served(); }, kPatience))
      << map_->view().Describe();
  const ProbeResult probe = ProbeShards(*client_, kShards, kPatience);
  EXPECT_TRUE(probe.ok()) << probe.unserved;
}

TEST_F(RestoreTest, WithoutThatItSaysWhatToDo) {
  BackUp();
  LiveOn();
  Restore();
  SM_ASSERT_OK(cluster_->StartControlPlane());
  ASSERT_TRUE(events_->WaitFor("EpochsBehind", "", TimePoint(), kPatience));
  EXPECT_THAT(cluster_->Shardctl({"get", "apps"}).output, HasSubstr("shardctl cell raise-epochs"));

  const auto dry_run = RaiseEpochsOr("--dry-run");
  EXPECT_EQ(dry_run.exit_code, 0) << dry_run.output;
  EXPECT_THAT(dry_run.output,
              AllOf(HasSubstr("would go on from 1000"), HasSubstr("would wait for it to stop"),
                    HasSubstr("nothing was changed")));
  cluster_->control_plane().Kill();
  const auto raised = RaiseEpochs();
  ASSERT_EQ(raised.exit_code, 0) << raised.output;
  SM_ASSERT_OK(cluster_->StartControlPlane());
  const ProbeResult probe = ProbeShards(*client_, kShards, kPatience);
  EXPECT_TRUE(probe.ok()) << probe.unserved;
}

}  // namespace
}  // namespace shardmanager::testing
