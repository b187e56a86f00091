// kvstore with a primary and secondaries: what was acknowledged survives the primary, and a
// drain changes primaries without an error.
#include <atomic>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using local::MapView;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

constexpr int kShards = 6;
constexpr int kServers = 3;

class ReplicatedTest : public ClusterTest {
 protected:
  void SetUp() override {
    ClusterTest::SetUp();
    SM_ASSERT_OK(StartReplicated(kServers, kShards));
  }
};

TEST_F(ReplicatedTest, WhatWasAcknowledgedSurvivesEachPrimary) {
  std::map<std::string, std::string> acknowledged;
  int n = 0;
  // A member that was killed holds up the writes until its session has ended; and the reads, if
  // the primary is a new one and has not made it like itself yet.
  const auto patiently = [](const auto& call) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    KvAnswer answer = call();
    while (!answer.status.ok() && std::chrono::steady_clock::now() < end) answer = call();
    return answer;
  };
  const auto write_all = [&] {
    for (int shard = 0; shard < kShards; ++shard) {
      const std::string value = absl::StrCat("value ", ++n);
      SM_ASSERT_OK(patiently([&] { return client_->Put(KeyOf(shard), value); }).status);
      acknowledged[KeyOf(shard)] = value;
    }
  };
  write_all();
  for (int i = 1; i <= kServers; ++i) {
    const std::string name = absl::StrCat("kv-", i);
    cluster_->server(name).Kill();
    for (const auto& [key, value] : acknowledged) {
      const KvAnswer got = patiently([&, &key = key] { return client_->Get(key); });
      SM_ASSERT_OK(got.status);
      EXPECT_THAT(got.value, Optional(value)) << key << " after " << name << " was killed";
    }
    write_all();
    SM_ASSERT_OK(cluster_->RestartServer(name));
    ASSERT_TRUE(AwaitReplicas(kServers)) << map_->view().Describe();
  }
}

TEST_F(ReplicatedTest, ADrainOfPrimariesCostsNoRequest) {
  std::atomic<bool> stop{false};
  int failed = 0;
  std::string first_error;
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      const KvAnswer put = client_->Put(KeyOf(i % kShards), absl::StrCat("value ", i));
      if (put.status.ok()) continue;
      if (failed++ == 0) first_error = put.status.ToString();
    }
  });
  for (int i = 1; i <= kServers; ++i) {
    const std::string name = absl::StrCat("kv-", i);
    EXPECT_EQ(cluster_->Shardctl({"drain", "server", name, "--primaries-only", "--wait"}).exit_code,
              0);
    EXPECT_THAT(cluster_->Shardctl({"describe", "server", name, "--app", "kv"}).output,
                HasSubstr("no primaries left"));
    EXPECT_EQ(cluster_->Shardctl({"undrain", "server", name}).exit_code, 0);
  }
  stop = true;
  writer.join();
  EXPECT_EQ(failed, 0) << first_error;
}

}  // namespace
}  // namespace shardmanager::testing
