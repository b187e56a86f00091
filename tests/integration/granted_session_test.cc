// ZooKeeper grants other sessions than the cell's leases need: nobody may seem to serve.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "coordination/zookeeper/private_zookeeper.h"
#include "gmock/gmock.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class GrantedSessionTest : public ClusterTest {
 protected:
  // With the same data each time. `max_session_timeout_ms`: 0 for ZooKeeper's default.
  void StartZookeeper(int tick_ms, int max_session_timeout_ms) {
    if (zookeeper_ != nullptr) zookeeper_->Stop();
    auto started = PrivateZookeeper::Start({.data_dir = cluster_->folder() + "/zookeeper",
                                            .tick_ms = tick_ms,
                                            .max_session_timeout_ms = max_session_timeout_ms});
    SM_ASSERT_OK(started.status());
    zookeeper_ = *std::move(started);
  }

  local::Program ControlPlane(const std::vector<std::string>& flags) {
    std::vector<std::string> argv = {cluster_->Bin("shardmanagerd"), "--listen", "127.0.0.1:0",
                                     "--zookeeper", zookeeper_->connect_string()};
    argv.insert(argv.end(), flags.begin(), flags.end());
    return local::Program("shardmanagerd", argv, cluster_->folder());
  }
  // Whether it came to lead within the patience.
  bool Leads(local::Program& control_plane) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline && control_plane.running()) {
      if (control_plane.Log().find("LeaderElected") != std::string::npos) return true;
    }
    return false;
  }

  std::unique_ptr<PrivateZookeeper> zookeeper_;
};

TEST_F(GrantedSessionTest, ControlPlaneRefusesAZookeeperThatGrantsShorterSessionsThanItsFlagsAsk) {
  StartZookeeper(/*tick_ms=*/200, /*max_session_timeout_ms=*/0);
  local::Program refused = ControlPlane({});
  SM_ASSERT_OK(refused.Start());
  EXPECT_EQ(refused.Wait(kPatience), 1) << refused.LogTail(20);
  EXPECT_THAT(refused.Log(), AllOf(HasSubstr("sessions of 10000 ms and was granted 4000 ms"),
                                   HasSubstr("--session-timeout-ms")));
  // The cell was not made with the wrong time-outs.
  local::Program mended =
      ControlPlane({"--session-timeout-ms", "2000", "--zookeeper-tick-ms", "200"});
  SM_ASSERT_OK(mended.Start());
  EXPECT_TRUE(Leads(mended)) << mended.LogTail(20);
}

TEST_F(GrantedSessionTest, ControlPlaneRefusesATickThatIsSmallerThanZookeepers) {
  StartZookeeper(/*tick_ms=*/2'000, /*max_session_timeout_ms=*/0);
  const std::vector<std::string> flags = {"--zookeeper-tick-ms", "200"};
  local::Program refused = ControlPlane(flags);
  SM_ASSERT_OK(refused.Start());
  EXPECT_EQ(refused.Wait(kPatience), 1) << refused.LogTail(20);
  EXPECT_THAT(refused.Log(), HasSubstr("its tickTime is 2000 ms, not the 200 ms of the cell"));
  local::Program told =
      ControlPlane({"--zookeeper-tick-ms", "200", "--min-session-timeout-is-set"});
  SM_ASSERT_OK(told.Start());
  EXPECT_TRUE(Leads(told)) << told.LogTail(20);
}

TEST_F(GrantedSessionTest, ServerDoesNotStartWhenItsSessionIsShorterThanTheCellAsks) {
  StartZookeeper(/*tick_ms=*/200, /*max_session_timeout_ms=*/60'000);
  local::Program control_plane = ControlPlane({});
  SM_ASSERT_OK(control_plane.Start());
  ASSERT_TRUE(Leads(control_plane)) << control_plane.LogTail(20);
  StartZookeeper(/*tick_ms=*/200, /*max_session_timeout_ms=*/0);
  local::Program server(
      "kvstore",
      {cluster_->Bin("kvstore"), "--name", "kv-1", "--zookeeper", zookeeper_->connect_string(),
       "--listen", "127.0.0.1:0", "--data", cluster_->data_folder()},
      cluster_->folder());
  SM_ASSERT_OK(server.Start());
  EXPECT_EQ(server.Wait(kPatience), 1) << server.LogTail(20);
  EXPECT_THAT(server.Log(), HasSubstr("sessions of 10000 ms and was granted 4000 ms"));
}

}  // namespace
}  // namespace shardmanager::testing
