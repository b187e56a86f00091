// Two shardmanagerd: one leads, the other stands by and serves the leader's maps.
#include <signal.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using local::MapView;
using ::testing::HasSubstr;

constexpr int kShards = 12;

class StandbyTest : public ClusterTest {
 protected:
  // The first leads; clients of the second see all of its map.
  absl::Status Serve() {
    if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
    if (absl::Status s = cluster_->StartStandby(); !s.ok()) return s;
    if (absl::Status s = StartServers(3); !s.ok()) return s;
    if (absl::Status s = ServeShards(kShards); !s.ok()) return s;
    at_standby_ = cluster_->WatchMap(cluster_->standby_endpoint());
    through_standby_ = std::make_unique<KvClient>(cluster_->standby_endpoint());
    return through_standby_->WaitReady(kPatience);
  }

  std::unique_ptr<local::MapWatcher> at_standby_;
  std::unique_ptr<KvClient> through_standby_;
};

TEST_F(StandbyTest, RelaysTheLeadersMapsAndGoesOnWithItsOwnWhenItTakesOver) {
  SM_ASSERT_OK(Serve());
  ASSERT_TRUE(at_standby_->WaitFor(
      [&](const MapView& v) { return v.all_served() && v.version == map_->view().version; },
      kPatience))
      << at_standby_->view().Describe();
  for (int shard = 0; shard < kShards; ++shard) {
    SM_ASSERT_OK(through_standby_->Put(KeyOf(shard), "through the standby").status);
  }

  // What the leader does is heard at the standby.
  cluster_->server("kv-1").Kill();
  const ProbeResult relayed = ProbeShards(*through_standby_, kShards, failover_bound());
  EXPECT_TRUE(relayed.ok()) << relayed.unserved;

  // Its clients stay with it when it takes over, and hear of what it does itself.
  const auto version = at_standby_->view().version;
  cluster_->control_plane().Kill();
  cluster_->server("kv-2").Kill();
  ASSERT_TRUE(at_standby_->WaitFor(
      [&](const MapView& v) { return v.version.first > version.first && v.all_served(); },
      kPatience))
      << at_standby_->view().Describe();
  EXPECT_EQ(at_standby_->view().counts().size(), 1u) << at_standby_->view().Describe();
  const ProbeResult taken_over = ProbeShards(*through_standby_, kShards, std::chrono::seconds(1));
  EXPECT_TRUE(taken_over.ok()) << taken_over.unserved;

  // The former leader stands by now, under the address that it led at.
  SM_ASSERT_OK(cluster_->StartControlPlane());
  const auto at_former_leader = cluster_->WatchMap(cluster_->admin_endpoint());
  EXPECT_TRUE(at_former_leader->WaitFor(
      [&](const MapView& v) { return v.version == at_standby_->view().version; }, kPatience))
      << at_former_leader->view().Describe();
}

// Clients through the relay, which has heard of the first leader only, and through the
// standby: neither has a request fail, whichever way the leader goes.
TEST_F(StandbyTest, NoRequestFailsWhileLeadersGo) {
  SM_ASSERT_OK(Serve());
  std::atomic<bool> stop{false};
  std::atomic<int> calls{0};
  std::mutex mutex;
  std::string first_error;
  const auto keep_calling = [&](KvClient& client) {
    for (int i = 0; !stop; ++i) {
      const std::string key = KeyOf(i % kShards);
      const absl::Status status = i % 2 == 0 ? client.Put(key, "x").status : client.Get(key).status;
      ++calls;
      std::lock_guard lock(mutex);
      if (!status.ok() && first_error.empty()) first_error = status.ToString();
    }
  };
  std::jthread one([&] { keep_calling(*client_); });
  std::jthread two([&] { keep_calling(*through_standby_); });
  const auto await_leader_after = [&](const local::MapWatcher& map, const auto& version) {
    return map.WaitFor([&](const MapView& v) { return v.version.first > version.first; },
                       kPatience);
  };
  // A map of the first leader: a later one than none at all would tell nothing.
  ASSERT_TRUE(at_standby_->WaitFor([](const MapView& v) { return v.all_served(); }, kPatience));
  const auto of_first_leader = at_standby_->view().version;
  cluster_->control_plane().Kill();
  EXPECT_TRUE(await_leader_after(*at_standby_, of_first_leader)) << at_standby_->view().Describe();
  SM_ASSERT_OK(cluster_->StartControlPlane());
  const auto at_first = cluster_->WatchMap(cluster_->admin_endpoint());
  ASSERT_TRUE(at_first->WaitFor(
      [&](const MapView& v) { return v.version == at_standby_->view().version; }, kPatience))
      << at_first->view().Describe();
  const auto of_second_leader = at_first->view().version;
  EXPECT_EQ(cluster_->standby().Stop(), 0);
  EXPECT_TRUE(await_leader_after(*at_first, of_second_leader)) << at_first->view().Describe();
  stop = true;
  one.join();
  two.join();
  EXPECT_EQ(first_error, "");
  EXPECT_GT(calls, 1'000);
}

TEST_F(StandbyTest, SendsOperatorsOnToTheLeader) {
  SM_ASSERT_OK(Serve());
  const auto listed = cluster_->Shardctl({"get", "servers"}, cluster_->standby_endpoint());
  EXPECT_EQ(listed.exit_code, 0) << listed.output;
  EXPECT_THAT(listed.output, HasSubstr("kv-3"));
  const auto watched = cluster_->Shardctl({"watch", "--no-follow"}, cluster_->standby_endpoint());
  EXPECT_EQ(watched.exit_code, 0) << watched.output;
  EXPECT_THAT(watched.output, HasSubstr("ServerJoined  kv/kv-3"));
}

}  // namespace
}  // namespace shardmanager::testing
