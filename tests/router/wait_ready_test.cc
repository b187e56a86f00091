// Router::WaitReady: with the newest map where discovery can tell, with an older one where it
// cannot.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "router/map_file.h"
#include "tests/router/router_fixture.h"

namespace shardmanager::router {
namespace {

class WaitReadyTest : public RouterFixture {
 protected:
  WaitReadyTest() { std::filesystem::create_directories(folder_); }
  ~WaitReadyTest() override { std::filesystem::remove_all(folder_); }

  v1::MapSnapshot OnServer(MapVersion version, std::vector<uint32_t> servers) const {
    return MakeSnapshot(version, {{"kv-1", "one:1", ""}, {"kv-2", "two:2", ""}},
                        {{"a", "", std::move(servers)}});
  }
  // A router that began with a map on disk that has the shard on kv-1.
  std::unique_ptr<Router> BeginWithAKeptMap(std::vector<std::string> discovery) const {
    v1::CachedMap kept;
    kept.set_app("kv");
    *kept.mutable_map() = OnServer(V(1), {0});
    EXPECT_TRUE(WriteMapFile(folder_ + "/kv.map", kept).ok());
    auto router = std::make_unique<Router>(RouterOptions{
        .discovery = std::move(discovery), .security = {.insecure = true}, .map_cache = folder_});
    EXPECT_EQ(router->Resolve("kv", "apple", 20s)->server, "kv-1");
    return router;
  }

  const std::string folder_ =
      std::filesystem::path(::testing::TempDir()) / ("wait_ready_test_" + std::to_string(getpid()));
};

TEST_F(WaitReadyTest, AnOlderMapIsNotGoodEnoughWhileDiscoveryMayStillSayWhatIsTheNewest) {
  const auto router = BeginWithAKeptMap({discovery_->endpoint()});  // which has no map yet
  auto server = std::async(std::launch::async, [&] {
    EXPECT_EQ(router->WaitReady("kv", 60s), absl::OkStatus());
    return router->Resolve("kv", "apple", 0s)->server;
  });
  EXPECT_EQ(server.wait_for(50ms), std::future_status::timeout);
  hub_.Publish(kApp, OnServer(V(2), {}));
  EXPECT_EQ(server.wait_for(50ms), std::future_status::timeout) << "the shard is not served";
  hub_.Publish(kApp, OnServer(V(3), {1}));
  EXPECT_EQ(server.get(), "kv-2");
}

TEST_F(WaitReadyTest, AnOlderMapIsGoodEnoughAfterTheTimeOut) {
  const auto router = BeginWithAKeptMap({discovery_->endpoint()});
  EXPECT_EQ(router->WaitReady("kv", 0s), absl::OkStatus());
}

TEST_F(WaitReadyTest, AnOlderMapIsGoodEnoughAsSoonAsEachEndpointWasTriedInVain) {
  const std::string nobody = "127.0.0.1:" + std::to_string(dead_port_);
  const auto router = BeginWithAKeptMap({nobody, nobody});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(router->WaitReady("kv", 60s), absl::OkStatus());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST_F(WaitReadyTest, AMapThatItsPublisherIsNotSureOfIsGoodEnoughWhereNobodyElseIs) {
  Publish(V(1), {0}, {1});
  hub_.SetStale(true);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(router_->WaitReady("kv", 60s), absl::OkStatus());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

TEST_F(WaitReadyTest, TheMapInMemoryIsGoodEnoughWhenDiscoveryIsLost) {
  Publish(V(1), {0}, {1});
  ASSERT_EQ(router_->WaitReady("kv", 60s), absl::OkStatus());
  discovery_.reset();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(router_->WaitReady("kv", 60s), absl::OkStatus());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
}

}  // namespace
}  // namespace shardmanager::router
