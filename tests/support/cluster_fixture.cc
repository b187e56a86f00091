#include "tests/support/cluster_fixture.h"

#include <algorithm>
#include <iostream>

#include "absl/strings/str_cat.h"

namespace shardmanager::testing {

void ClusterTest::SetUp() {
  auto cluster = local::Cluster::Make({});
  SM_ASSERT_OK(cluster.status());
  cluster_ = *std::move(cluster);
}

void ClusterTest::TearDown() {
  if (cluster_ == nullptr) return;
  const std::string unasked = cluster_->UnaskedEnds();
  EXPECT_TRUE(unasked.empty()) << unasked;
  if (HasFailure()) std::cerr << cluster_->Logs(40);
}

absl::Status ClusterTest::StartServers(int count) {
  for (int i = 1; i <= count; ++i) {
    const absl::Status started =
        cluster_->StartServer({.name = absl::StrCat("kv-", i), .rack = absl::StrCat("rack-", i)});
    if (!started.ok()) return started;
  }
  return absl::OkStatus();
}

absl::Status ClusterTest::StartServing(int servers, int shards) {
  if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
  if (absl::Status s = StartServers(servers); !s.ok()) return s;
  return ServeShards(shards);
}

absl::Status ClusterTest::StartReplicated(int servers, int shards) {
  if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
  for (int i = 1; i <= servers; ++i) {
    const std::string name = absl::StrCat("kv-", i);
    const absl::Status started =
        cluster_->StartServer({.name = name,
                               .rack = name,
                               .program = {cluster_->Bin("kvstore"), "--storage", "replicated"}});
    if (!started.ok()) return started;
  }
  v1::AppSpec spec = ReplicatedKvSpec(shards);
  spec.mutable_replication()->set_replicas(static_cast<uint32_t>(servers));
  if (absl::Status s = ServeShards(spec); !s.ok()) return s;
  if (AwaitReplicas(static_cast<size_t>(servers))) return absl::OkStatus();
  return absl::DeadlineExceededError(map_->view().Describe());
}

bool ClusterTest::AwaitReplicas(size_t replicas) {
  const auto whole = [=](const local::MapView& view) {
    return view.all_served() &&
           std::all_of(view.shards.begin(), view.shards.end(), [=](const local::MapView::Shard& s) {
             return s.servers.size() == replicas;
           });
  };
  return map_->WaitFor(whole, kPatience);
}

absl::Status ClusterTest::ServeShards(const v1::AppSpec& spec) {
  if (absl::Status s = cluster_->admin().Apply(spec).status(); !s.ok()) return s;
  map_ = cluster_->WatchMap();
  events_ = cluster_->WatchEvents();
  client_ = std::make_unique<KvClient>(cluster_->discovery_endpoint(), "kv", "",
                                       cluster_->security().own());
  if (absl::Status s = client_->WaitReady(kPatience); !s.ok()) return s;
  if (map_->WaitFor([](const local::MapView& v) { return v.all_served(); }, kPatience)) {
    return absl::OkStatus();
  }
  return absl::DeadlineExceededError(map_->view().Describe());
}

}  // namespace shardmanager::testing
