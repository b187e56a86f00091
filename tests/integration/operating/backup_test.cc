// ZooKeeper is backed up and restored step by step, as docs/operations.md says. What goes wrong
// when a step is left out is in tests/integration/restore_test.cc.
#include <filesystem>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/integration/operating/kv_load.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using local::MapView;
using ::testing::HasSubstr;

constexpr int kShards = 12;
constexpr const char* kServers[] = {"kv-1", "kv-2", "kv-3"};

class BackupTest : public ClusterTest {
 protected:
  void SetUp() override {
    auto cluster = local::Cluster::Make({.zookeepers = 3});
    SM_ASSERT_OK(cluster.status());
    cluster_ = *std::move(cluster);
    SM_ASSERT_OK(StartServing(3, kShards));
  }

  std::string Data(size_t member) const {
    return absl::StrCat(cluster_->folder(), "/zookeeper-", member + 1, "/version-2");
  }
  std::string backup() const { return cluster_->folder() + "/backup"; }

  // Step by step, while clients call.
  void BackUp() {
    KvLoad load(*cluster_, cluster_->security(), cluster_->discovery_endpoint());
    SM_ASSERT_OK(load.Start());
    const std::optional<size_t> leader = cluster_->zookeepers().Leader();
    ASSERT_TRUE(leader.has_value());
    const size_t follower = (*leader + 1) % cluster_->zookeepers().size();
    cluster_->zookeepers().member(follower).Stop();
    std::filesystem::copy(Data(follower), backup(), std::filesystem::copy_options::recursive);
    SM_ASSERT_OK(cluster_->zookeepers().Start());
    EXPECT_EQ(load.End(), 0) << load.Said();
    EXPECT_THAT(load.Said(), HasSubstr(" 0 failed\n"));
    SM_ASSERT_OK(cluster_->admin().AwaitLeading(kPatience));
  }
  // Epochs and changes that the backup does not have.
  void LiveOn() {
    for (uint64_t leader = 2; leader <= 3; ++leader) {
      cluster_->control_plane().Stop();
      SM_ASSERT_OK(cluster_->StartControlPlane());
      const auto taken_over = [&](const MapView& v) {
        return v.version.first >= leader && v.all_served();
      };
      ASSERT_TRUE(map_->WaitFor(taken_over, kPatience)) << map_->view().Describe();
    }
    ASSERT_EQ(cluster_->Shardctl({"undrain", "server", "kv-3", "--app", "kv"}).exit_code, 0);
    v1::AppSpec later = KvSpec(2);
    later.set_name("later");
    SM_ASSERT_OK(cluster_->admin().Apply(later).status());
  }
  void LoseEverything() {
    cluster_->control_plane().Kill();
    for (const char* name : kServers) EXPECT_EQ(cluster_->server(name).Stop(), 0) << name;
    for (size_t i = 0; i < cluster_->zookeepers().size(); ++i) {
      cluster_->zookeepers().member(i).Kill();
      std::filesystem::remove_all(Data(i));
    }
  }
  void Restore() {
    for (size_t i = 0; i < cluster_->zookeepers().size(); ++i) {
      std::filesystem::copy(backup(), Data(i), std::filesystem::copy_options::recursive);
    }
    SM_ASSERT_OK(cluster_->zookeepers().Start());
    const auto raised = cluster_->Shardctl({"cell", "raise-epochs", cluster_->options().cell,
                                            "--zookeeper", cluster_->zookeeper_endpoint()});
    ASSERT_EQ(raised.exit_code, 0) << raised.output;
    SM_ASSERT_OK(cluster_->StartControlPlane());
    for (const char* name : kServers) SM_ASSERT_OK(cluster_->RestartServer(name));
  }
};

TEST_F(BackupTest, TakenFromAFollowerUnderLoadItBringsTheCellBack) {
  SM_ASSERT_OK(client_->Put(KeyOf(7), "from before").status);
  ASSERT_EQ(cluster_->Shardctl({"drain", "server", "kv-3", "--app", "kv", "--wait"}).exit_code, 0);
  const auto spec = cluster_->Shardctl({"get", "app", "kv", "-o", "spec"});
  ASSERT_EQ(spec.exit_code, 0) << spec.output;
  BackUp();
  LiveOn();
  LoseEverything();
  Restore();

  // The relay and the client of before, which ran on, follow.
  const auto restored = [](const MapView& v) {
    return v.version.first > 10'000 && v.all_served() && v.counts().count("kv-3") == 0;
  };
  EXPECT_TRUE(map_->WaitFor(restored, kPatience)) << map_->view().Describe();
  const ProbeResult probe = ProbeShards(*client_, kShards, kPatience);
  EXPECT_TRUE(probe.ok()) << probe.unserved;
  EXPECT_EQ(client_->Get(KeyOf(7)).value, "from before");
  // What was applied before the backup is there, what came after it is not.
  EXPECT_EQ(cluster_->Shardctl({"get", "app", "kv", "-o", "spec"}).output, spec.output);
  EXPECT_THAT(cluster_->Shardctl({"describe", "app", "kv"}).output,
              HasSubstr("server kv-3 since "));
  EXPECT_EQ(cluster_->Shardctl({"get", "app", "later"}).exit_code, 4);
}

}  // namespace
}  // namespace shardmanager::testing
