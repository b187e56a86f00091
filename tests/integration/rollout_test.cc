// Container operations with real processes: cluster managers that restart servers through the task
// controller.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "examples/localcluster/cluster_manager.h"
#include "gmock/gmock.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using local::ClusterManager;
using local::MapView;
using ::testing::HasSubstr;

class RolloutTest : public ClusterTest {
 protected:
  std::unique_ptr<ClusterManager> Manager(const std::string& name) {
    local::ContainerPort port;
    port.stop = [this](const std::string& server) { cluster_->server(server).Stop(); };
    port.start = [this](const std::string& server) { return cluster_->RestartServer(server); };
    port.is_process = [this](const std::string& server, const std::string& process) {
      return process.ends_with(absl::StrCat("/", cluster_->server(server).pid()));
    };
    return std::make_unique<ClusterManager>(
        local::ClusterManagerOptions{.name = name, .app = "kv", .endpoint = endpoint()}, port);
  }
  std::string endpoint() const { return cluster_->admin_endpoint(); }

  // Until all managers have done what they want, or the patience ends.
  static bool RunToTheEnd(const std::vector<ClusterManager*>& managers) {
    const auto until = std::chrono::steady_clock::now() + 3 * kPatience;
    while (std::chrono::steady_clock::now() < until) {
      bool idle = true;
      for (ClusterManager* manager : managers) {
        const auto wait = manager->Round();
        idle &= wait.ok() && manager->idle();
      }
      if (idle) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // as a manager polls
    }
    return false;
  }
};

TEST_F(RolloutTest, AllServersRestartOneByOneAndNoRequestFails) {
  constexpr int kShards = 24;
  SM_ASSERT_OK(StartServing(4, kShards));
  std::atomic<bool> stop{false};
  std::atomic<int> calls{0};
  std::vector<std::string> failures;
  std::thread load([&] {
    for (int i = 0; !stop; ++i) {
      const KvAnswer put = client_->Put(KeyOf(i % kShards), absl::StrCat(i));
      ++calls;
      if (!put.status.ok()) failures.push_back(put.status.ToString());
    }
  });
  const auto east = Manager("manager-east");
  const auto west = Manager("manager-west");
  for (const char* server : {"kv-1", "kv-2"}) east->Restart(server, "rollout of version 2");
  for (const char* server : {"kv-3", "kv-4"}) west->Restart(server, "rollout of version 2");
  const bool ended = RunToTheEnd({east.get(), west.get()});
  stop = true;
  load.join();
  EXPECT_TRUE(ended) << ::testing::PrintToString(east->delays())
                     << ::testing::PrintToString(west->delays());
  EXPECT_THAT(failures, ::testing::IsEmpty());
  EXPECT_GT(calls, 100);
  for (const char* server : {"kv-1", "kv-2", "kv-3", "kv-4"}) {
    EXPECT_THAT(cluster_->Shardctl({"describe", "server", server}).output, HasSubstr("2"));
  }
  EXPECT_THAT(cluster_->Shardctl({"watch", "--no-follow"}).output, HasSubstr("OperationApproved"));
}

TEST_F(RolloutTest, ALostLeaderForgetsNoApproval) {
  SM_ASSERT_OK(StartServing(3, 6));
  SM_ASSERT_OK(cluster_->StartStandby());
  const auto manager = Manager("manager-1");
  for (const char* server : {"kv-1", "kv-2", "kv-3"}) manager->Restart(server, "new kernel");
  // Until one of them is being prepared, or further.
  while (manager->delays()["kv-1"].find("must be moved") == std::string::npos &&
         manager->waiting() == 3) {
    SM_ASSERT_OK(manager->Round().status());
  }
  cluster_->control_plane().Kill();
  SM_ASSERT_OK(cluster_->admin(1).AwaitLeading(kPatience));
  const auto successor = std::make_unique<ClusterManager>(
      local::ClusterManagerOptions{
          .name = "manager-2", .app = "kv", .endpoint = cluster_->standby_endpoint()},
      local::ContainerPort{.stop = [](const auto&) {},
                           .start = [](const auto&) { return absl::OkStatus(); },
                           .is_process = [](const auto&, const auto&) { return true; }});
  // The first manager's operation is under way, though its manager was not heard yet: one server of
  // three may be away.
  successor->Restart("kv-3", "a second manager");
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!successor->Round().ok()) {  // the new leader reads the app's records first
    ASSERT_LT(std::chrono::steady_clock::now(), until);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(successor->waiting(), 1u);
  EXPECT_THAT(successor->delays()["kv-3"],
              ::testing::AnyOf(HasSubstr("max_unavailable_servers"), HasSubstr("taken over"),
                               HasSubstr("must be moved")));
}

}  // namespace
}  // namespace shardmanager::testing
