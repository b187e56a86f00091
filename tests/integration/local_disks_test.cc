// kvstore on local disks: shards go from server to server with their data.
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using local::MapView;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr int kShards = 4;

class LocalDisksTest : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    SM_ASSERT_OK(cluster_->StartCore());
    SM_ASSERT_OK(StartLocal("kv-1", {"--make-new-shards"}));
    SM_ASSERT_OK(ServeShards(kShards));
    for (int shard = 0; shard < kShards; ++shard) {
      SM_ASSERT_OK(client_->Put(KeyOf(shard), "first").status);
    }
  }

  // With a port of its own choice, which it keeps.
  absl::Status StartLocal(const std::string& name, std::vector<std::string> more = {}) {
    std::vector<std::string> program = {cluster_->Bin("kvstore"), "--storage", "local"};
    program.insert(program.end(), more.begin(), more.end());
    return cluster_->StartServer({.name = name,
                                  .rack = name,
                                  .program = program,
                                  .listen = absl::StrCat("127.0.0.1:", FreePort())});
  }

  bool AwaitCounts(size_t first, size_t second) {
    return map_->WaitFor(
        [&](const MapView& view) {
          auto counts = view.counts();
          return view.all_served() && counts["kv-1"] == first && counts["kv-2"] == second;
        },
        kPatience);
  }
};

TEST_F(LocalDisksTest, ShardsGoToAnotherDiskUnderWritesAndNoneIsLost) {
  std::atomic<bool> stop{false};
  int written = 0, failed = 0;
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      failed += !client_->Put(KeyOf(i % kShards), absl::StrCat("value ", i)).status.ok();
      written = i;
    }
  });
  const absl::Status started = StartLocal("kv-2");
  const bool balanced = started.ok() && AwaitCounts(2, 2);
  stop = true;
  writer.join();
  ASSERT_TRUE(balanced) << started << map_->view().Describe();
  EXPECT_EQ(failed, 0);
  for (int i = written - kShards + 1; i <= written; ++i) {
    const KvAnswer got = client_->Get(KeyOf(i % kShards));
    SM_ASSERT_OK(got.status);
    EXPECT_THAT(got.value, Optional(absl::StrCat("value ", i)));
  }
}

TEST_F(LocalDisksTest, ServerWithoutTheDataRefusesThem) {
  SM_ASSERT_OK(StartLocal("kv-2"));
  ASSERT_TRUE(AwaitCounts(2, 2)) << map_->view().Describe();
  cluster_->server("kv-1").Kill();
  // Granted to the other one (failover.delay_ms is 0), which has no copy of them.
  ASSERT_TRUE(map_->WaitFor([](const MapView& v) { return v.served() == 2; }, kPatience));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::string refusal;
  while (refusal.find("no copy of this shard here") == std::string::npos &&
         std::chrono::steady_clock::now() < deadline) {
    refusal = cluster_->Shardctl({"get", "shards", "--app", "kv"}).output;
  }
  EXPECT_THAT(refusal, HasSubstr("no copy of this shard here"));

  SM_ASSERT_OK(cluster_->RestartServer("kv-1"));
  EXPECT_EQ(cluster_->Shardctl({"drain", "server", "kv-2"}).exit_code, 0);
  ASSERT_TRUE(AwaitCounts(kShards, 0)) << map_->view().Describe();
  for (int shard = 0; shard < kShards; ++shard) {
    const KvAnswer got = client_->Get(KeyOf(shard));
    SM_ASSERT_OK(got.status);
    EXPECT_THAT(got.value, Optional(std::string("first")));
  }
}

}  // namespace
}  // namespace shardmanager::testing
