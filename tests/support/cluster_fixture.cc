#include "tests/support/cluster_fixture.h"

#include <iostream>

#include "absl/strings/str_cat.h"

namespace shardmanager::testing {

void ClusterTest::SetUp() {
  auto cluster = local::Cluster::Make({});
  SM_ASSERT_OK(cluster.status());
  cluster_ = *std::move(cluster);
}

void ClusterTest::TearDown() {
  if (HasFailure() && cluster_ != nullptr) std::cerr << cluster_->Logs(40);
}

void ClusterTest::StartServers(int count) {
  for (int i = 1; i <= count; ++i) {
    SM_ASSERT_OK(
        cluster_->StartServer({.name = absl::StrCat("kv-", i), .rack = absl::StrCat("rack-", i)}));
  }
}

void ClusterTest::ServeShards(int shards) {
  SM_ASSERT_OK(cluster_->admin().Apply(KvSpec(shards)).status());
  map_ = cluster_->WatchMap();
  events_ = cluster_->WatchEvents();
  client_ = std::make_unique<KvClient>(cluster_->discovery_endpoint());
  SM_ASSERT_OK(client_->WaitReady(kPatience));
  ASSERT_TRUE(map_->WaitFor([](const local::MapView& v) { return v.all_served(); }, kPatience))
      << map_->view().Describe();
}

}  // namespace shardmanager::testing
