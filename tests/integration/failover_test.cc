// A server is lost: its shards are served elsewhere, and what it held is there.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "runtime/clock.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using local::MapView;
using ::testing::Optional;

constexpr int kShards = 30;

class FailoverTest : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    SM_ASSERT_OK(StartServing(3, kShards));
    for (int shard = 0; shard < kShards; ++shard) {
      SM_ASSERT_OK(client_->Put(KeyOf(shard), "kept").status);
    }
  }

  void ExpectAllKept() {
    for (int shard = 0; shard < kShards; ++shard) {
      const KvAnswer got = client_->Get(KeyOf(shard));
      SM_ASSERT_OK(got.status);
      EXPECT_THAT(got.value, Optional(std::string("kept"))) << "shard " << shard;
    }
  }
};

TEST_F(FailoverTest, KilledServersShardsAreServedWithinDetectionAndASecond) {
  const TimePoint killed = MonotonicNow();
  cluster_->server("kv-2").Kill();
  const ProbeResult probe = ProbeShards(*client_, kShards, failover_bound());
  EXPECT_TRUE(probe.ok()) << probe.unserved;
  EXPECT_EQ(map_->view().counts()["kv-2"], 0u);
  EXPECT_TRUE(events_->WaitFor("ServerLost", "kv-2", killed, kPatience));
  EXPECT_TRUE(events_->WaitFor("FailoverFinished", "kv-2", killed, kPatience));
  ExpectAllKept();
}

TEST_F(FailoverTest, StoppedServerIsReplacedAndServesNothingWhenItGoesOn) {
  cluster_->server("kv-2").Pause();
  const ProbeResult probe = ProbeShards(*client_, kShards, failover_bound());
  EXPECT_TRUE(probe.ok()) << probe.unserved;
  for (int shard = 0; shard < kShards; ++shard) {
    SM_ASSERT_OK(client_->Put(KeyOf(shard, 1), "by the new owner").status);
  }
  cluster_->server("kv-2").Resume();
  // It comes back as a new life and gets a share again.
  EXPECT_TRUE(map_->WaitFor(
      [](const MapView& v) { return v.all_served() && v.counts()["kv-2"] == 10; }, kPatience))
      << map_->view().Describe();
  ExpectAllKept();
}

TEST_F(FailoverTest, RestartedServerServesAgain) {
  cluster_->server("kv-2").Kill();
  SM_ASSERT_OK(cluster_->RestartServer("kv-2"));
  const ProbeResult probe = ProbeShards(*client_, kShards, failover_bound());
  EXPECT_TRUE(probe.ok()) << probe.unserved;
  EXPECT_TRUE(map_->WaitFor(
      [](const MapView& v) { return v.all_served() && v.counts()["kv-2"] == 10; }, kPatience))
      << map_->view().Describe();
  ExpectAllKept();
}

TEST_F(FailoverTest, LossOfAllServersEndsWhenOneComesBack) {
  const TimePoint killed = MonotonicNow();
  for (const std::string& name : cluster_->server_names()) cluster_->server(name).Kill();
  for (const std::string& name : cluster_->server_names()) {
    ASSERT_TRUE(events_->WaitFor("ServerLost", name, killed, kPatience)) << name;
  }
  SM_ASSERT_OK(cluster_->RestartServer("kv-1"));
  EXPECT_TRUE(
      map_->WaitFor([](const MapView& v) { return v.counts()["kv-1"] == kShards; }, kPatience))
      << map_->view().Describe();
  ExpectAllKept();
}

}  // namespace
}  // namespace shardmanager::testing
