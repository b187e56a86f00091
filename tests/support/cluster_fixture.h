// The fixture of tests with real processes.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/time.h"
#include "gtest/gtest.h"
#include "tests/local_cluster/cluster.h"
#include "tests/support/kv_client.h"
#include "tests/support/kv_spec.h"
#include "tests/support/probe.h"

namespace shardmanager::testing {

// Long enough on a busy machine for what takes well below a second.
inline constexpr std::chrono::milliseconds kPatience{20'000};

#define SM_ASSERT_OK(expression)                         \
  do {                                                   \
    const absl::Status sm_status = (expression);         \
    ASSERT_TRUE(sm_status.ok()) << sm_status.ToString(); \
  } while (false)

// A private cluster for each test, gone at its end; after a failure the ends of all
// logs are printed. A program that ends by itself is a failure.
class ClusterTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // kv-1 to kv-<count>, each in its own rack.
  absl::Status StartServers(int count);
  // ZooKeeper, the control plane, a relay, so many servers, and KvSpec(shards) served by them.
  absl::Status StartServing(int servers, int shards);
  // The same, but ReplicatedKvSpec(shards): each server has a replica of every shard.
  absl::Status StartReplicated(int servers, int shards);
  // Each shard is served by so many.
  bool AwaitReplicas(size_t replicas);
  // Applies KvSpec(shards), or this one, and waits until every shard is served.
  absl::Status ServeShards(int shards) { return ServeShards(KvSpec(shards)); }
  absl::Status ServeShards(const v1::AppSpec& spec);
  // Detection of a loss and a second for the repair.
  std::chrono::milliseconds failover_bound() const {
    return cluster_->detection_bound() + std::chrono::seconds(1);
  }

  std::unique_ptr<local::Cluster> cluster_;
  std::unique_ptr<local::MapWatcher> map_;
  std::unique_ptr<local::EventWatcher> events_;
  std::unique_ptr<KvClient> client_;
};

}  // namespace shardmanager::testing
