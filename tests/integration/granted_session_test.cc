// ZooKeeper grants other sessions than the cell's leases need: nobody may seem to serve.
#include <chrono>
#include <memory>
#include <regex>
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

  // `name`: of its log, too.
  local::Program ControlPlane(const std::vector<std::string>& flags,
                              const std::string& name = "shardmanagerd") {
    std::vector<std::string> argv = {cluster_->Bin("shardmanagerd"), "--listen", "127.0.0.1:0",
                                     "--zookeeper", zookeeper_->connect_string()};
    argv.insert(argv.end(), flags.begin(), flags.end());
    return local::Program(name, argv, cluster_->folder());
  }
  // Whether it came to lead within the patience.
  bool Leads(local::Program& control_plane) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline && control_plane.running()) {
      if (control_plane.Log().find("LeaderElected") != std::string::npos) return true;
    }
    return false;
  }

  // As its log has it.
  static std::string Endpoint(const local::Program& control_plane) {
    const std::string log = control_plane.Log();
    std::smatch found;
    if (!std::regex_search(log, found, std::regex("discovery on port ([0-9]+)"))) return "";
    return "127.0.0.1:" + found[1].str();
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

// What a cell was made with holds, whatever the flags of later processes are.
TEST_F(GrantedSessionTest, ControlPlaneWithoutTheFlagsThatMadeTheCellLeadsAndAnswers) {
  StartZookeeper(/*tick_ms=*/5'000, /*max_session_timeout_ms=*/0);
  local::Program maker =
      ControlPlane({"--session-timeout-ms", "30000", "--zookeeper-tick-ms", "5000"});
  SM_ASSERT_OK(maker.Start());
  ASSERT_TRUE(Leads(maker)) << maker.LogTail(20);
  maker.Stop();
  local::Program next = ControlPlane({}, "next");
  SM_ASSERT_OK(next.Start());
  ASSERT_TRUE(Leads(next)) << next.LogTail(20);
  const auto apps = cluster_->Shardctl({"get", "apps"}, Endpoint(next));
  EXPECT_EQ(apps.exit_code, 0) << apps.output;
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
