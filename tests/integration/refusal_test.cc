// What must not be: a clear error and an exit code, and nothing else suffers.
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/local_cluster/ports.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using ::testing::HasSubstr;

class RefusalTest : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    SM_ASSERT_OK(cluster_->StartCore());
  }

  // A second process of our making, beside the cluster's own.
  local::Program Second(const std::string& name, const std::string& listen) {
    return local::Program("second-" + name,
                          {cluster_->Bin("kvstore"), "--name", name, "--cell",
                           cluster_->options().cell, "--zookeeper", cluster_->zookeeper_endpoint(),
                           "--listen", listen, "--data", cluster_->data_folder()},
                          cluster_->folder());
  }
};

TEST_F(RefusalTest, SecondServerOfOneNameEndsWithAnErrorThatNamesTheFirst) {
  const std::string first = absl::StrCat("127.0.0.1:", local::StablePort());
  SM_ASSERT_OK(cluster_->StartServer({.name = "kv-1", .listen = first}));
  SM_ASSERT_OK(ServeShards(4));
  local::Program second = Second("kv-1", "127.0.0.1:0");
  SM_ASSERT_OK(second.Start());
  // It first waits for what could be the session of a former life.
  EXPECT_EQ(second.Wait(kPatience), 1) << second.LogTail(20);
  EXPECT_THAT(second.Log(), AllOf(HasSubstr("kv-1"), HasSubstr(first)));
  const ProbeResult probe = ProbeShards(*client_, 4, std::chrono::seconds(1));
  EXPECT_TRUE(probe.ok()) << probe.unserved;
}

TEST_F(RefusalTest, ServerWhosePortIsTakenEndsWithAnErrorThatNamesThePort) {
  local::Program second = Second("kv-9", cluster_->admin_endpoint());
  SM_ASSERT_OK(second.Start());
  EXPECT_EQ(second.Wait(kPatience), 1);
  EXPECT_THAT(second.Log(), HasSubstr(cluster_->admin_endpoint()));
}

TEST_F(RefusalTest, ControlPlaneWhosePortIsTakenEndsWithAnErrorThatNamesThePort) {
  for (const std::string program : {"shardmanagerd", "shard-discoveryd"}) {
    std::vector<std::string> argv = {cluster_->Bin(program), "--listen",
                                     cluster_->discovery_endpoint()};
    if (program == "shardmanagerd") {
      argv.insert(argv.end(), {"--cell", "local", "--zookeeper", cluster_->zookeeper_endpoint()});
    } else {
      argv.insert(argv.end(), {"--upstream", cluster_->admin_endpoint()});
    }
    local::Program second("second-" + program, argv, cluster_->folder());
    SM_ASSERT_OK(second.Start());
    const std::optional<int> code = second.Wait(kPatience);
    EXPECT_TRUE(code && *code != 0 && *code < 128) << program << ": " << second.LogTail(20);
    EXPECT_THAT(second.Log(), HasSubstr(cluster_->discovery_endpoint()));
  }
}

TEST_F(RefusalTest, ControlPlaneWhoseTimeOutIsTooShortForALeaseSaysWhatIsAllowed) {
  local::Program second("second-shardmanagerd",
                        {cluster_->Bin("shardmanagerd"), "--listen", "127.0.0.1:0", "--zookeeper",
                         cluster_->zookeeper_endpoint(), "--session-timeout-ms", "4000"},
                        cluster_->folder());
  SM_ASSERT_OK(second.Start());
  EXPECT_EQ(second.Wait(kPatience), 2) << second.LogTail(20);
  EXPECT_THAT(second.Log(), HasSubstr("--session-timeout-ms: found 4000; allowed: at least 8000, "
                                      "4 ticks of 2000 ms"));
}

// It is larger than what gRPC receives by default.
TEST_F(RefusalTest, SpecOfAMillionShardsIsReadToItsEnd) {
  constexpr int kShards = 1'000'000;
  v1::AppSpec spec = KvSpec(1);
  for (int shard = 1; shard < kShards; ++shard) {
    spec.mutable_key_space()->add_split_points(absl::StrCat(kShards + shard));
  }
  spec.mutable_key_space()->add_split_points("0");
  const absl::Status status = cluster_->admin().Apply(spec).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("key_space.split_points[999999]"));
}

// Add and drop are tried again elsewhere or later; the other shards do not suffer.
TEST_F(RefusalTest, ShardThatCannotBeOpenedIsReportedAndServedOnceItCan) {
  const std::string blocked = cluster_->data_folder() + "/shard-2.db";
  ASSERT_EQ(mkdir(blocked.c_str(), 0755), 0);  // a folder where the file should be
  SM_ASSERT_OK(StartServers(2));
  SM_ASSERT_OK(cluster_->admin().Apply(KvSpec(4)).status());
  map_ = cluster_->WatchMap();
  ASSERT_TRUE(map_->WaitFor([](const local::MapView& v) { return v.served() == 3; }, kPatience))
      << map_->view().Describe();
  // The reason reaches whoever asks.
  std::string reason;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (reason.empty() && std::chrono::steady_clock::now() < deadline) {
    const auto shards = cluster_->admin().GetShards("kv");
    SM_ASSERT_OK(shards.status());
    reason = shards->shards(2).reason();
    for (const auto& replica : shards->shards(2).replicas()) reason += replica.reason();
  }
  EXPECT_THAT(reason, HasSubstr("shard-2.db"));
  ASSERT_EQ(rmdir(blocked.c_str()), 0);
  EXPECT_TRUE(map_->WaitFor([](const local::MapView& v) { return v.all_served(); }, kPatience))
      << map_->view().Describe();
}

}  // namespace
}  // namespace shardmanager::testing
