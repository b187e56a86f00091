// Maps on disk: what is read back, what is refused, and a router that begins with one.
#include "router/map_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>
#include <vector>

#include "router/map_file.h"
#include "runtime/child_process.h"
#include "shardmanager/router.h"
#include "tests/discovery/discovery_server.h"
#include "tests/router/echo_server.h"
#include "tests/router/test_maps.h"

namespace shardmanager::router {
namespace {

using namespace std::chrono_literals;
using discovery::DiscoveryServer;
using discovery::Hub;
using ::echo::Echo;
using ::testing::HasSubstr;

constexpr MapVersion V(uint64_t sequence, uint64_t epoch = 1) { return {epoch, sequence}; }
const AppName kApp("kv");

class MapFileTest : public ::testing::Test {
 protected:
  MapFileTest() {
    std::string pattern = ::testing::TempDir() + "map_cache_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~MapFileTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/kv.map"; }
  std::string Bytes() const {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void SetBytes(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary) << bytes;
  }
  static v1::CachedMap Map(MapVersion version, const std::string& cell = "c@1") {
    v1::CachedMap map;
    map.set_app("kv");
    *map.mutable_map() =
        MakeSnapshot(version, {{"kv-1", "127.0.0.1:1", "eu"}}, {{"a", "", {0}}, {"b", "m", {}}});
    map.mutable_map()->set_cell(cell);
    return map;
  }
  MapVersion Kept() const {
    return MapVersion::From(ReadMapFile(path(), "kv").value().map().version());
  }

  std::string folder_;
};

TEST_F(MapFileTest, ReadsBackWhatWasWritten) {
  EXPECT_TRUE(absl::IsNotFound(ReadMapFile(path(), "kv").status()));
  const v1::CachedMap map = Map(V(7));
  EXPECT_EQ(WriteMapFile(path(), map).value(), Written::kYes);
  EXPECT_EQ(ReadMapFile(path(), "kv").value().SerializeAsString(), map.SerializeAsString());
  EXPECT_FALSE(std::filesystem::exists(path() + ".tmp"));
}

TEST_F(MapFileTest, NothingOlderReplacesWhatIsThere) {
  ASSERT_EQ(WriteMapFile(path(), Map(V(7, 2))).value(), Written::kYes);
  EXPECT_EQ(WriteMapFile(path(), Map(V(6, 2))).value(), Written::kNewerThere);
  EXPECT_EQ(WriteMapFile(path(), Map(V(99, 1))).value(), Written::kNewerThere);
  EXPECT_EQ(Kept(), V(7, 2));
  EXPECT_EQ(WriteMapFile(path(), Map(V(1, 3))).value(), Written::kYes);
  EXPECT_EQ(Kept(), V(1, 3));
}

TEST_F(MapFileTest, VersionsOfAnotherCellAreNotCompared) {
  ASSERT_TRUE(WriteMapFile(path(), Map(V(7, 2), "c@1")).ok());
  EXPECT_EQ(WriteMapFile(path(), Map(V(1, 1), "c@2")).value(), Written::kYes);
  EXPECT_EQ(Kept(), V(1, 1));
}

TEST_F(MapFileTest, RefusesEveryTruncationAndFlippedBit) {
  ASSERT_TRUE(WriteMapFile(path(), Map(V(7))).ok());
  const std::string good = Bytes();
  for (size_t length = 0; length < good.size(); ++length) {
    SetBytes(good.substr(0, length));
    EXPECT_TRUE(absl::IsDataLoss(ReadMapFile(path(), "kv").status())) << length;
  }
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    SetBytes(bad);
    EXPECT_FALSE(ReadMapFile(path(), "kv").ok()) << i;
  }
  // It is a copy: a good one takes its place.
  EXPECT_EQ(WriteMapFile(path(), Map(V(1))).value(), Written::kYes);
  EXPECT_EQ(Kept(), V(1));
}

TEST_F(MapFileTest, RefusesTheMapOfAnotherApp) {
  ASSERT_TRUE(WriteMapFile(path(), Map(V(7))).ok());
  EXPECT_THAT(ReadMapFile(path(), "mail").status().ToString(),
              HasSubstr("is the map of app \"kv\""));
}

TEST_F(MapFileTest, SaysWhyItCannotBeWritten) {
  const absl::Status status = WriteMapFile(folder_ + "/none/kv.map", Map(V(1))).status();
  EXPECT_THAT(status.ToString(), HasSubstr("No such file or directory"));
}

TEST_F(MapFileTest, SaysWhyItCannotBeRead) {
  std::filesystem::create_directory(path());
  EXPECT_THAT(ReadMapFile(path(), "kv").status().ToString(), HasSubstr("Is a directory"));
}

TEST_F(MapFileTest, OfManyWritersTheNewestWins) {
  std::vector<std::thread> writers;
  for (uint64_t writer = 0; writer < 4; ++writer) {
    writers.emplace_back([this, writer] {
      for (uint64_t i = 0; i < 10; ++i) {
        EXPECT_TRUE(WriteMapFile(path(), Map(V(1 + (i * 7 + writer * 13) % 50))).ok());
      }
    });
  }
  uint64_t newest = 0;
  for (uint64_t writer = 0; writer < 4; ++writer) {
    for (uint64_t i = 0; i < 10; ++i) newest = std::max(newest, 1 + (i * 7 + writer * 13) % 50);
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(Kept(), V(newest));
}

// ---- a router that has one ----

class CachedRouterTest : public MapFileTest {
 protected:
  // One shard, on the server of that number.
  v1::MapSnapshot Whole(MapVersion version, uint32_t server,
                        const std::string& cell = "c@1") const {
    v1::MapSnapshot whole = MakeSnapshot(
        version, {{one_.name(), one_.endpoint(), ""}, {two_.name(), two_.endpoint(), ""}},
        {{"a", "", {server}}});
    whole.set_cell(cell);
    return whole;
  }
  void Keep(const v1::MapSnapshot& whole) const {
    v1::CachedMap map;
    map.set_app("kv");
    *map.mutable_map() = whole;
    ASSERT_TRUE(WriteMapFile(path(), map).ok());
  }
  RouterOptions Options(const std::string& discovery, const std::string& cell = "") const {
    return {.discovery = {discovery},
            .security = {.insecure = true},
            .map_cache = folder_,
            .cell = cell};
  }
  std::string nobody() const { return "127.0.0.1:" + std::to_string(dead_port_); }

  // Who answers; "": nobody.
  static std::string Asked(Router& router, std::chrono::milliseconds timeout = 10s) {
    echo::EchoRequest request;
    echo::EchoResponse response;
    auto client = router.GetClient<Echo>("kv", "key");
    const grpc::Status status =
        client.Call(&Echo::Stub::Say, request, &response, {.timeout = timeout});
    return status.ok() ? response.server() : "";
  }
  static bool Eventually(Router& router, const std::string& server) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (Asked(router, 1s) != server) {
      if (std::chrono::steady_clock::now() > deadline) return false;
    }
    return true;
  }

  const int dead_port_ = FreePort();
  EchoServer one_{"kv-1"};
  EchoServer two_{"kv-2"};
  Hub hub_;
  DiscoveryServer discovery_{hub_};
};

TEST_F(CachedRouterTest, ANewRouterBeginsWithTheLastMapOfAnotherOne) {
  hub_.Publish(kApp, Whole(V(1), 0));
  {
    Router router(Options(discovery_.endpoint()));
    ASSERT_EQ(Asked(router), "kv-1");
    hub_.Publish(kApp, MakeDelta(V(1), V(2), 0, {1}));
    ASSERT_TRUE(Eventually(router, "kv-2"));
  }
  EXPECT_EQ(Kept(), V(2)) << "with the delta";
  Router router(Options(nobody()));
  EXPECT_EQ(Asked(router), "kv-2");
  EXPECT_TRUE(router.WaitReady("kv", 1s).ok());
}

// Who waits for a map is woken while it is still being taken over.
TEST_F(CachedRouterTest, WhatWasSeenIsKeptHoweverSoonTheRouterGoes) {
  for (uint64_t round = 0; round < 50; ++round) {
    const MapVersion unserved = V(2 * round + 1);
    const MapVersion served = V(2 * round + 2);
    v1::MapSnapshot whole = Whole(unserved, 0);
    whole.mutable_shards(0)->clear_replicas();
    Hub hub;  // that has no older map to begin with
    hub.Publish(kApp, whole);
    DiscoveryServer discovery(hub);
    {
      Router router(Options(discovery.endpoint()));
      std::thread publisher([&] { hub.Publish(kApp, MakeDelta(unserved, served, 0, {0})); });
      const absl::Status ready = router.WaitReady("kv", 20s);
      publisher.join();
      ASSERT_TRUE(ready.ok()) << ready;
    }
    ASSERT_EQ(Kept(), served);
  }
}

TEST_F(CachedRouterTest, NothingIsKeptUnlessAsked) {
  hub_.Publish(kApp, Whole(V(1), 0));
  {
    Router router({.discovery = {discovery_.endpoint()}, .security = {.insecure = true}});
    ASSERT_EQ(Asked(router), "kv-1");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(CachedRouterTest, DiscoveryReplacesTheKeptMapAndTheFile) {
  Keep(Whole(V(1), 0));
  {
    Hub late;
    std::optional<DiscoveryServer> server;
    Router router(Options(nobody()));
    ASSERT_EQ(Asked(router), "kv-1");
    late.Publish(kApp, Whole(V(2), 1));
    server.emplace(late, dead_port_);
    EXPECT_TRUE(Eventually(router, "kv-2"));
  }
  EXPECT_EQ(Kept(), V(2));
}

TEST_F(CachedRouterTest, AnOlderMapOfDiscoveryDoesNotReplaceTheKeptOneButANewerOneDoes) {
  Keep(Whole(V(5), 0));
  Hub late;
  Router router(Options(nobody()));
  ASSERT_EQ(Asked(router), "kv-1");
  late.Publish(kApp, Whole(V(4), 1));
  DiscoveryServer server(late, dead_port_);
  // The stream brings these one after another: the old one is there before the new one.
  EXPECT_FALSE(router.WaitReady("other", 500ms).ok());
  EXPECT_EQ(Asked(router), "kv-1");
  EXPECT_EQ(Kept(), V(5));
  late.Publish(kApp, MakeDelta(V(4), V(5), 0, {0}));
  late.Publish(kApp, MakeDelta(V(5), V(6), 0, {1}));
  EXPECT_TRUE(Eventually(router, "kv-2"));
}

TEST_F(CachedRouterTest, DeltasAreTakenAfterTheVeryMapThatWasKept) {
  Keep(Whole(V(5), 0));
  Hub late;
  Router router(Options(nobody()));
  ASSERT_EQ(Asked(router), "kv-1");
  late.Publish(kApp, Whole(V(5), 0));
  DiscoveryServer server(late, dead_port_);
  late.Publish(kApp, MakeDelta(V(5), V(6), 0, {1}));
  EXPECT_TRUE(Eventually(router, "kv-2"));
}

// The stream goes on from the older map, which was refused: its deltas lead nowhere here.
TEST_F(CachedRouterTest, AfterADeltaThatDoesNotFitTheKeptMapTheWholeOneIsTaken) {
  Keep(Whole(V(5), 0));
  Hub late;
  Router router(Options(nobody()));
  ASSERT_EQ(Asked(router), "kv-1");
  late.Publish(kApp, Whole(V(4), 1));
  DiscoveryServer server(late, dead_port_);
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (late.subscribers() == 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  late.Publish(kApp, MakeDelta(V(4), V(6), 0, {1}));
  EXPECT_TRUE(Eventually(router, "kv-2"));
}

// A cell that was made anew begins at the bottom: its maps are not older.
TEST_F(CachedRouterTest, AKeptMapOfAnotherCellGivesWayToDiscovery) {
  Keep(Whole(V(5, 90), 0, "c@1"));
  Hub late;
  Router router(Options(nobody()));
  ASSERT_EQ(Asked(router), "kv-1");
  late.Publish(kApp, Whole(V(1, 1), 1, "c@2"));
  DiscoveryServer server(late, dead_port_);
  EXPECT_TRUE(Eventually(router, "kv-2"));
}

TEST_F(CachedRouterTest, AKeptMapOfAnotherCellIsRefusedByWhoNamesHisCell) {
  Keep(Whole(V(5), 0, "other@1"));
  Router wrong(Options(nobody(), "prod"));
  EXPECT_EQ(Asked(wrong, 1s), "");
  Keep(Whole(V(5), 0, "prod@1"));
  Router right(Options(nobody(), "prod"));
  EXPECT_EQ(Asked(right), "kv-1");
}

TEST_F(CachedRouterTest, MapsOfAnotherCellThatDiscoveryHasAreRefused) {
  hub_.Publish(kApp, Whole(V(5), 0, "other@1"));
  Router wrong(Options(discovery_.endpoint(), "prod"));
  EXPECT_EQ(Asked(wrong, 1s), "");
  EXPECT_TRUE(absl::IsNotFound(ReadMapFile(path(), "kv").status()));
}

TEST_F(CachedRouterTest, ADamagedFileIsIgnoredAndReplaced) {
  SetBytes("what a disk made of it");
  {
    Router router(Options(nobody()));
    EXPECT_EQ(Asked(router, 1s), "");
  }
  EXPECT_EQ(Bytes(), "what a disk made of it");
  hub_.Publish(kApp, Whole(V(1), 0));
  {
    Router router(Options(discovery_.endpoint()));
    EXPECT_EQ(Asked(router), "kv-1");
  }
  EXPECT_EQ(Kept(), V(1));
}

TEST_F(CachedRouterTest, FilesAreWrittenNoOftenerThanSaid) {
  MapCache cache({.directory = folder_, .interval = Seconds(1'000), .soon = Duration(0)});
  cache.Accepted("kv", WholeMap(Whole(V(1), 0)));
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!ReadMapFile(path(), "kv").ok() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  ASSERT_EQ(Kept(), V(1));
  for (uint64_t i = 2; i < 50; ++i) cache.Accepted("kv", MakeDelta(V(i - 1), V(i), 0, {1}));
  EXPECT_EQ(Kept(), V(1));
  cache.Stop();
  EXPECT_EQ(Kept(), V(49)) << "the last one is written at the end";
}

TEST_F(CachedRouterTest, NamesThatNoAppHasTouchNoFile) {
  MapCache cache({.directory = folder_ + "/inner", .soon = Duration(0)});
  cache.Accepted("../kv", WholeMap(Whole(V(1), 0)));
  cache.Stop();
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/inner"));
}

}  // namespace
}  // namespace shardmanager::router
