#include "tests/local_cluster/map_watcher.h"

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "shardmanager/v1/discovery.grpc.pb.h"

namespace shardmanager::local {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr std::chrono::seconds kPatience{10};

// Each subscription gets the next script and then stays open.
class ScriptedDiscovery : public v1::Discovery::Service {
 public:
  explicit ScriptedDiscovery(std::deque<std::vector<v1::WatchResponse>> scripts)
      : scripts_(std::move(scripts)) {}

  grpc::Status Watch(grpc::ServerContext* context, const v1::WatchRequest* request,
                     grpc::ServerWriter<v1::WatchResponse>* writer) override {
    std::vector<v1::WatchResponse> script;
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(*request);
      if (scripts_.empty()) return grpc::Status::OK;
      script = scripts_.front();
      scripts_.pop_front();
    }
    for (const v1::WatchResponse& response : script) writer->Write(response);
    std::unique_lock lock(mutex_);
    cancelled_.wait(lock, [&] { return context->IsCancelled() || ended_; });
    return grpc::Status::OK;
  }

  void End() {
    std::lock_guard lock(mutex_);
    ended_ = true;
    cancelled_.notify_all();
  }
  std::vector<v1::WatchRequest> requests() {
    std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable cancelled_;
  bool ended_ = false;
  std::deque<std::vector<v1::WatchResponse>> scripts_;
  std::vector<v1::WatchRequest> requests_;
};

v1::MapServer Server(uint32_t index, const std::string& name) {
  v1::MapServer server;
  server.set_index(index);
  server.set_name(name);
  return server;
}

v1::MapShard Shard(uint32_t index, std::vector<uint32_t> servers) {
  v1::MapShard shard;
  shard.set_index(index);
  for (uint32_t server : servers) shard.add_replicas()->set_server(server);
  return shard;
}

v1::WatchResponse Part(uint64_t version, std::vector<v1::MapServer> servers,
                       std::vector<v1::MapShard> shards, bool last) {
  v1::WatchResponse response;
  v1::MapSnapshot& snapshot = *response.mutable_snapshot();
  snapshot.mutable_version()->set_leader_epoch(1);
  snapshot.mutable_version()->set_sequence(version);
  for (const auto& server : servers) *snapshot.add_servers() = server;
  for (const auto& shard : shards) *snapshot.add_shards() = shard;
  snapshot.set_last(last);
  return response;
}

v1::WatchResponse Delta(uint64_t from, uint64_t to, std::vector<v1::MapServer> servers,
                        std::vector<v1::MapShard> shards) {
  v1::WatchResponse response;
  v1::MapDelta& delta = *response.mutable_delta();
  delta.mutable_from()->set_leader_epoch(1);
  delta.mutable_from()->set_sequence(from);
  delta.mutable_version()->set_leader_epoch(1);
  delta.mutable_version()->set_sequence(to);
  for (const auto& server : servers) *delta.add_servers() = server;
  for (const auto& shard : shards) *delta.add_shards() = shard;
  return response;
}

class MapWatcherTest : public ::testing::Test {
 protected:
  void Serve(std::deque<std::vector<v1::WatchResponse>> scripts) {
    service_ = std::make_unique<ScriptedDiscovery>(std::move(scripts));
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    watcher_ = std::make_unique<MapWatcher>(server_->InProcessChannel({}), "kv");
  }
  void TearDown() override {
    service_->End();
    watcher_.reset();
    server_->Shutdown();
  }
  bool AwaitVersion(uint64_t sequence) {
    return watcher_->WaitFor([&](const MapView& v) { return v.version.second == sequence; },
                             kPatience);
  }

  std::unique_ptr<ScriptedDiscovery> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<MapWatcher> watcher_;
};

TEST_F(MapWatcherTest, PutsASnapshotTogetherFromItsParts) {
  Serve({{Part(4, {Server(0, "a")}, {Shard(0, {0})}, false),
          Part(4, {Server(1, "b")}, {Shard(1, {1}), Shard(2, {})}, true)}});
  ASSERT_TRUE(AwaitVersion(4));
  const MapView view = watcher_->view();
  EXPECT_THAT(view.counts(), ElementsAre(Pair("a", 1), Pair("b", 1)));
  EXPECT_EQ(view.served(), 2u);
  EXPECT_FALSE(view.all_served());
}

TEST_F(MapWatcherTest, AppliesDeltas) {
  Serve({{Part(4, {Server(0, "a")}, {Shard(0, {0}), Shard(1, {})}, true),
          Delta(4, 5, {Server(1, "b")}, {Shard(1, {1})})}});
  ASSERT_TRUE(AwaitVersion(5));
  EXPECT_TRUE(watcher_->view().all_served());
  EXPECT_THAT(watcher_->view().counts(), ElementsAre(Pair("a", 1), Pair("b", 1)));
}

TEST_F(MapWatcherTest, AsksForASnapshotAfterADeltaThatDoesNotFit) {
  Serve({{Part(4, {Server(0, "a")}, {Shard(0, {})}, true), Delta(7, 8, {}, {Shard(0, {0})})},
         {Part(9, {Server(0, "a")}, {Shard(0, {0})}, true)}});
  service_->End();
  ASSERT_TRUE(AwaitVersion(9));
  EXPECT_FALSE(service_->requests()[1].has_known());
}

TEST_F(MapWatcherTest, ResumesFromWhatItHas) {
  Serve({{Part(4, {Server(0, "a")}, {Shard(0, {})}, true)}, {Delta(4, 5, {}, {Shard(0, {0})})}});
  ASSERT_TRUE(AwaitVersion(4));
  service_->End();  // of the first stream
  ASSERT_TRUE(AwaitVersion(5));
  EXPECT_EQ(service_->requests()[1].known().sequence(), 4u);
}

}  // namespace
}  // namespace shardmanager::local
