// Maps tell clients what they do not know yet, once.
#include "orchestrator/shell/map_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class MapBuilderTest : public testing::Test {
 protected:
  explicit MapBuilderTest(const v1::AppSpec& spec = TestSpec(4)) : world(spec) {
    world.Start();
    world.Join("kv-0");
    world.Join("kv-1");
    world.Advance(Seconds(30));
  }
  // "kv-0 at kv-0:1".
  template <typename Map>
  static std::vector<std::string> Servers(const Map& map) {
    std::vector<std::string> servers;
    for (const v1::MapServer& server : map.servers()) {
      servers.push_back(absl::StrCat(server.name(), " at ", server.endpoint()));
    }
    return servers;
  }
  v1::MapDelta Delta(const std::string& shard) {
    return maps.Delta(world.partition().state(), {world.partition().tables().FindShard(shard)});
  }

  World world;
  MapBuilder maps{LeaderEpoch(3), /*sequence=*/7, "cell@5", /*cell_made_ms=*/5};
};

TEST_F(MapBuilderTest, AWholeMapNamesEachServerOnce) {
  const v1::MapSnapshot map = maps.Whole(world.partition().state());
  EXPECT_THAT(map.shards(), SizeIs(4));
  EXPECT_THAT(Servers(map), UnorderedElementsAre("kv-0 at kv-0:1", "kv-1 at kv-1:1"));
  EXPECT_EQ(map.version().leader_epoch(), 3u);
  EXPECT_EQ(map.version().sequence(), 8u);
}

TEST(MapBuilderRangesTest, AWholeMapSaysWhichKeysAShardHolds) {
  v1::AppSpec spec = TestSpec(2);
  spec.mutable_key_space()->mutable_shards(0)->mutable_range()->set_end("m");
  spec.mutable_key_space()->mutable_shards(1)->mutable_range()->set_start("m");
  World world(spec);
  world.Start();
  MapBuilder maps{LeaderEpoch(3), /*sequence=*/7, "cell@5", /*cell_made_ms=*/5};
  const v1::MapSnapshot map = maps.Whole(world.partition().state());
  ASSERT_THAT(map.shards(), SizeIs(2));
  EXPECT_EQ(map.shards(0).range().start(), "");
  EXPECT_EQ(map.shards(0).range().end(), "m");
  EXPECT_EQ(map.shards(1).range().start(), "m");
  EXPECT_EQ(map.shards(1).range().end(), "");
}

TEST(MapBuilderRangesTest, RangesOfHashesAreNoRangesOfKeys) {
  v1::AppSpec spec = TestSpec(2);
  spec.clear_key_space();
  spec.mutable_key_space()->set_hash_shards(2);
  World world(spec);
  world.Start();
  MapBuilder maps{LeaderEpoch(3), /*sequence=*/7, "cell@5", /*cell_made_ms=*/5};
  const v1::MapSnapshot map = maps.Whole(world.partition().state());
  ASSERT_THAT(map.shards(), SizeIs(2));
  for (const v1::MapShard& shard : map.shards()) {
    EXPECT_FALSE(shard.has_range()) << "clients that know no hashes would find a wrong shard";
  }
  EXPECT_EQ(map.shards(0).hash_range().end(), "8");
  EXPECT_EQ(map.shards(1).hash_range().start(), "8");
}

TEST_F(MapBuilderTest, ADeltaNamesOnlyServersThatAreElsewhereThanBefore) {
  maps.Whole(world.partition().state());
  EXPECT_THAT(Servers(Delta("s-0")), IsEmpty());
  const std::string holder = world.Holders("s-0").at(0);
  world.Send(ServerUp{{.name = holder, .incarnation = Incarnation(2), .endpoint = "moved:2"}});
  ASSERT_THAT(world.Published("s-0"), ElementsAre(holder + "*"));
  const v1::MapDelta delta = Delta("s-0");
  EXPECT_THAT(Servers(delta), ElementsAre(holder + " at moved:2"));
  EXPECT_EQ(delta.from().sequence(), 9u);
  EXPECT_EQ(delta.version().sequence(), 10u);
  EXPECT_THAT(Servers(Delta("s-0")), IsEmpty());
}

class MapOfRolesTest : public MapBuilderTest {
 protected:
  MapOfRolesTest() : MapBuilderTest(TestSpec(1, v1::PRIMARY_SECONDARY, 2)) {}
};

TEST_F(MapOfRolesTest, SecondariesAreKnownToBeBehindTheirPrimary) {
  const v1::MapSnapshot map = maps.Whole(world.partition().state());
  ASSERT_THAT(map.shards(), SizeIs(1));
  ASSERT_THAT(map.shards(0).replicas(), SizeIs(2));
  for (const v1::MapReplica& replica : map.shards(0).replicas()) {
    EXPECT_EQ(replica.behind_primary(), replica.role() == v1::SECONDARY);
  }
}

}  // namespace
}  // namespace shardmanager::orchestrator
