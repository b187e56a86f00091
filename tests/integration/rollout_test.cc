// Container operations with real processes: cluster managers that restart servers through the task
// controller.
#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "examples/localcluster/cluster_manager.h"
#include "examples/localcluster/supervisor.h"
#include "gmock/gmock.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using local::ClusterManager;
using local::MapView;
using ::testing::HasSubstr;

class RolloutTest : public ClusterTest {
 protected:
  // As StartServing(), with processes of examples/localcluster.
  absl::Status StartSupervised(int servers, int shards) {
    if (absl::Status core = cluster_->StartCore(); !core.ok()) return core;
    for (int i = 1; i <= servers; ++i) {
      const std::string name = absl::StrCat("kv-", i);
      absl::Status added = supervisor_.Add(
          {.name = name,
           .region = "region-1",
           .rack = name,
           .command = {cluster_->Bin("kvstore"), "--app", "kv", "--name", "{name}", "--cell",
                       cluster_->options().cell, "--zookeeper", cluster_->zookeeper_endpoint(),
                       "--listen", "127.0.0.1:0", "--region", "{region}", "--datacenter", "dc-1",
                       "--rack", "{rack}", "--data", cluster_->data_folder()},
           .log_file = absl::StrCat(cluster_->folder(), "/", name, ".log")});
      if (!added.ok()) return added;
    }
    return ServeShards(shards);
  }
  std::unique_ptr<ClusterManager> Manager(const std::string& name) {
    const local::ContainerPort port{
        .begin =
            [this](const v1::ContainerOperation& operation) {
              supervisor_.Restart(operation.container());
            },
        .done = [this](const std::string& server) { return supervisor_.Settled(server); },
        .is_process =
            [this](const std::string& server, const std::string& process) {
              return supervisor_.IsProcess(server, process);
            }};
    return std::make_unique<ClusterManager>(
        local::ClusterManagerOptions{.name = name,
                                     .app = "kv",
                                     .endpoint = cluster_->admin_endpoint(),
                                     .transport = cluster_->security().transport()},
        port);
  }

  // Until it is so, or the patience ends. The managers work meanwhile.
  bool RunUntil(const std::vector<ClusterManager*>& managers, const std::function<bool()>& so) {
    const auto until = std::chrono::steady_clock::now() + 3 * kPatience;
    while (std::chrono::steady_clock::now() < until) {
      supervisor_.Tick();
      for (ClusterManager* manager : managers) manager->Tick().IgnoreError();  // it tries again
      if (so()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  bool RunToTheEnd(const std::vector<ClusterManager*>& managers) {
    return RunUntil(managers, [&] {
      return std::all_of(managers.begin(), managers.end(), [](auto* m) { return m->idle(); });
    });
  }

  // Its processes end before the cluster does.
  local::Supervisor supervisor_{{.grace = Seconds(3), .first_wait = Milliseconds(100), .say = {}}};
};

TEST_F(RolloutTest, AllServersRestartOneByOneAndNoRequestFails) {
  constexpr int kShards = 24;
  SM_ASSERT_OK(StartSupervised(4, kShards));
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
  for (const char* server : {"kv-1", "kv-2"})
    SM_ASSERT_OK(east->Want(v1::RESTART, server, "rollout of version 2"));
  for (const char* server : {"kv-3", "kv-4"})
    SM_ASSERT_OK(west->Want(v1::RESTART, server, "rollout of version 2"));
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
  EXPECT_THAT(cluster_->Shardctl({"rollout", "status", "kv", "--wait"}).output,
              HasSubstr("no operation is left"));
  EXPECT_THAT(cluster_->Shardctl({"rollout", "status", "kv"}).output,
              ::testing::AllOf(HasSubstr("manager-east   2/2"), HasSubstr("manager-west   2/2")));
}

TEST_F(RolloutTest, ALostLeaderForgetsNoApproval) {
  SM_ASSERT_OK(StartSupervised(3, 6));
  SM_ASSERT_OK(cluster_->StartStandby());
  const auto manager = Manager("manager-1");
  for (const char* server : {"kv-1", "kv-2", "kv-3"})
    SM_ASSERT_OK(manager->Want(v1::RESTART, server, "new kernel"));
  // Until one of them is being prepared, or further.
  ASSERT_TRUE(RunUntil({manager.get()}, [&] {
    return manager->delays()["kv-1"].find("must be moved") != std::string::npos ||
           manager->waiting() != 3;
  }));
  cluster_->control_plane().Kill();
  SM_ASSERT_OK(cluster_->admin(1).AwaitLeading(kPatience));
  const auto successor = std::make_unique<ClusterManager>(
      local::ClusterManagerOptions{.name = "manager-2",
                                   .app = "kv",
                                   .endpoint = cluster_->standby_endpoint(),
                                   .transport = cluster_->security().transport()},
      local::ContainerPort{.begin = [](const auto&) {},
                           .done = [](const auto&) { return true; },
                           .is_process = [](const auto&, const auto&) { return true; }});
  // The first manager's operation is under way, though its manager was not heard yet: one server of
  // three may be away.
  SM_ASSERT_OK(successor->Want(v1::RESTART, "kv-3", "a second manager"));
  // The new leader reads the app's records first.
  ASSERT_TRUE(RunUntil({successor.get()}, [&] { return successor->answered() > 0; }));
  EXPECT_EQ(successor->waiting(), 1u);
  EXPECT_THAT(successor->delays()["kv-3"],
              ::testing::AnyOf(HasSubstr("max_unavailable_servers"), HasSubstr("taken over"),
                               HasSubstr("must be moved")));
}

TEST_F(RolloutTest, ACrashedServerStartsAgainAndItsRestartIsOfTheNewLife) {
  SM_ASSERT_OK(StartSupervised(2, 4));
  const auto manager = Manager("manager-1");
  SM_ASSERT_OK(manager->Want(v1::RESTART, "kv-1", "new binary"));
  supervisor_.Crash("kv-1");
  EXPECT_TRUE(RunToTheEnd({manager.get()})) << ::testing::PrintToString(manager->delays());
  EXPECT_THAT(supervisor_.Describe("kv-1"), HasSubstr("1 crashes"));
  EXPECT_TRUE(supervisor_.Settled("kv-1"));
  EXPECT_TRUE(map_->WaitFor([](const MapView& view) { return view.all_served(); }, kPatience));
}

TEST_F(RolloutTest, AManagerReportsWhileAContainerStopsSlowly) {
  SM_ASSERT_OK(StartSupervised(2, 4));
  bool begun = false;
  bool done = false;
  ClusterManager manager(
      {.name = "manager-1",
       .app = "kv",
       .endpoint = cluster_->admin_endpoint(),
       .transport = cluster_->security().transport(),
       .say = {},
       .report_every = Milliseconds(50)},
      {.begin = [&](const auto&) { begun = true; },
       .done = [&](const auto&) { return done; },
       .is_process = [&](const auto& server,
                         const auto& process) { return supervisor_.IsProcess(server, process); }});
  SM_ASSERT_OK(manager.Want(v1::RESTART, "kv-1", "slow to stop"));
  ASSERT_TRUE(RunUntil({&manager}, [&] { return begun; }));
  const uint64_t before = manager.answered();
  EXPECT_TRUE(RunUntil({&manager}, [&] { return manager.answered() > before + 1; }));
  EXPECT_FALSE(manager.idle());
  supervisor_.Restart("kv-1");
  ASSERT_TRUE(RunUntil({}, [&] { return supervisor_.Settled("kv-1"); }));
  done = true;
  EXPECT_TRUE(RunToTheEnd({&manager}));
}

}  // namespace
}  // namespace shardmanager::testing
