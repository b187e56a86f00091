#include "router/map_holder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "model/layout.h"
#include "shardmanager/routing.h"
#include "tests/router/test_maps.h"

namespace shardmanager::router {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr MapVersion V(uint64_t sequence, uint64_t epoch = 1) { return {epoch, sequence}; }
const std::vector<TestServer> kServers = {{"kv-0", "h0:1", "eu"}, {"kv-1", "h1:1", "us"}};

std::vector<std::string> ServersOf(const ShardMap& map, std::string_view id) {
  std::vector<std::string> names;
  for (const MappedReplica& replica : map.replicas(map.layout().FindById(id))) {
    names.push_back(map.server(replica.server()).name);
  }
  return names;
}

TEST(MapHolderTest, FindsShardsByKeyAndById) {
  MapHolder holder;
  ASSERT_TRUE(holder.Apply(MakeSnapshot(V(1), kServers, {{"a", "", {0}}, {"b", "m", {1}}})).ok());
  const MapLayout& layout = holder.map()->layout();
  EXPECT_EQ(layout.id(layout.FindByKey("")), "a");
  EXPECT_EQ(layout.id(layout.FindByKey("lzzz")), "a");
  EXPECT_EQ(layout.id(layout.FindByKey("m")), "b");
  EXPECT_EQ(layout.id(layout.FindById("b")), "b");
  EXPECT_FALSE(layout.FindById("c").valid());
  EXPECT_THAT(ServersOf(*holder.map(), "b"), ElementsAre("kv-1"));
}

TEST(MapHolderTest, KeysInNoRangeHaveNoShard) {
  MapHolder holder;
  v1::MapSnapshot whole = MakeSnapshot(V(1), kServers, {{"a", "d", {0}}, {"b", "m", {1}}});
  whole.mutable_shards(0)->mutable_range()->set_end("h");
  whole.mutable_shards(1)->mutable_range()->set_end("q");
  ASSERT_TRUE(holder.Apply(whole).ok());
  const MapLayout& layout = holder.map()->layout();
  for (const char* key : {"", "c", "h", "l", "q", "z"}) {
    EXPECT_FALSE(layout.FindByKey(key).valid()) << key;
  }
  for (const char* key : {"d", "gzz", "m", "pzz"})
    EXPECT_TRUE(layout.FindByKey(key).valid()) << key;
}

// As the control plane publishes hash_shards: 256.
v1::MapSnapshot HashedSnapshot(MapVersion version) {
  v1::AppSpec spec;
  spec.mutable_key_space()->set_hash_shards(256);
  std::vector<TestShard> shards;
  for (const LayoutShard& shard : ExpandLayout(spec)) {
    shards.push_back({shard.id.value(), shard.start, {0}});
  }
  v1::MapSnapshot whole = MakeSnapshot(version, kServers, shards);
  for (v1::MapShard& shard : *whole.mutable_shards()) {
    *shard.mutable_hash_range() = shard.range();
    shard.clear_range();
  }
  return whole;
}

TEST(MapHolderTest, FindsTheShardOfAKeysHash) {
  MapHolder holder;
  ASSERT_TRUE(holder.Apply(HashedSnapshot(V(1))).ok());
  const MapLayout& layout = holder.map()->layout();
  EXPECT_TRUE(layout.hashed());
  // XXH64 of "" is ef46db3751d8e999, of "abc" 44bc2cf5ad770999.
  EXPECT_EQ(layout.id(layout.FindByKey("")), "shard-239");
  EXPECT_EQ(layout.id(layout.FindByKey("abc")), "shard-068");
  for (int i = 0; i < 10'000; ++i) {
    const std::string key = "user-" + std::to_string(i);
    EXPECT_EQ(layout.FindByKey(key).index(), KeyHash(key) >> 56) << key;
  }
}

TEST(MapHolderTest, SeesThatKeysAreHashedNow) {
  MapHolder holder;
  v1::MapSnapshot plain = HashedSnapshot(V(1));
  for (v1::MapShard& shard : *plain.mutable_shards()) {
    *shard.mutable_range() = shard.hash_range();
    shard.clear_hash_range();
  }
  ASSERT_TRUE(holder.Apply(plain).ok());
  EXPECT_EQ(holder.map()->layout().FindByKey("abc").index(), 0xab);
  ASSERT_TRUE(holder.Apply(HashedSnapshot(V(2))).ok());
  EXPECT_EQ(holder.map()->layout().FindByKey("abc").index(), 0x44);
  ASSERT_TRUE(holder.Apply(HashedSnapshot(V(3))).ok());
  EXPECT_EQ(holder.map()->layout().FindByKey("abc").index(), 0x44);
}

TEST(MapHolderTest, RefusesAMapOfWhichAPartIsHashed) {
  for (const int plain : {0, 100}) {
    MapHolder holder;
    v1::MapSnapshot mixed = HashedSnapshot(V(1));
    mixed.mutable_shards(plain)->clear_hash_range();
    EXPECT_EQ(holder.Apply(mixed).code(), absl::StatusCode::kInvalidArgument);
    mixed = HashedSnapshot(V(1));
    mixed.mutable_shards(plain)->mutable_range();
    EXPECT_EQ(holder.Apply(mixed).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(MapHolderTest, ShardsWithoutRangesAreFoundByIdOnly) {
  MapHolder holder;
  v1::MapSnapshot whole = MakeSnapshot(V(1), kServers, {{"a", "", {0}}, {"b", "", {1}}});
  for (v1::MapShard& shard : *whole.mutable_shards()) shard.clear_range();
  ASSERT_TRUE(holder.Apply(whole).ok());
  EXPECT_FALSE(holder.map()->layout().FindByKey("x").valid());
  EXPECT_TRUE(holder.map()->layout().FindById("b").valid());
}

TEST(MapHolderTest, ShardsNeedNotComeInKeyOrder) {
  MapHolder holder;
  v1::MapSnapshot whole = MakeSnapshot(V(1), kServers, {{"a", "m", {0}}, {"b", "", {1}}});
  whole.mutable_shards(0)->mutable_range()->clear_end();
  whole.mutable_shards(1)->mutable_range()->set_end("m");
  ASSERT_TRUE(holder.Apply(whole).ok());
  const MapLayout& layout = holder.map()->layout();
  EXPECT_EQ(layout.id(layout.FindByKey("a")), "b");
  EXPECT_EQ(layout.id(layout.FindByKey("x")), "a");
}

// Starts and ends are kept once where they are the same.
TEST(MapHolderPropertyTest, EachShardHasTheRangeThatTheSnapshotSays) {
  Random random(11);
  for (int round = 0; round < 200; ++round) {
    v1::MapSnapshot whole = MakeSnapshot(V(1), kServers, {});
    std::string end;
    for (uint32_t i = 0; i < random.Below(8); ++i) {
      v1::MapShard* shard = whole.add_shards();
      shard->set_index(i);
      shard->set_id(absl::StrCat("shard-", i));
      if (random.Below(4) == 0) {  // no range
        end.clear();
        continue;
      }
      const bool follows = i > 0 && random.Below(3) > 0;
      const std::string start = follows ? end : absl::StrCat("k", random.Below(1'000));
      end = random.Below(8) == 0 ? "" : absl::StrCat("k", random.Below(1'000));
      shard->mutable_range()->set_start(start);
      shard->mutable_range()->set_end(end);
    }
    MapHolder holder;
    if (!holder.Apply(whole).ok()) continue;  // two of one start
    const MapLayout& layout = holder.map()->layout();
    ASSERT_EQ(layout.size(), static_cast<size_t>(whole.shards_size()));
    for (const v1::MapShard& shard : whole.shards()) {
      const ShardIndex index(shard.index());
      EXPECT_EQ(layout.id(index), shard.id());
      EXPECT_EQ(layout.start(index), shard.range().start());
      EXPECT_EQ(layout.end(index), shard.range().end());
    }
    EXPECT_TRUE(layout.Matches(WholeMap(whole)));
  }
}

TEST(MapHolderTest, RefusesTwoShardsOfOneNameOrOneStart) {
  MapHolder holder;
  EXPECT_EQ(holder.Apply(MakeSnapshot(V(1), kServers, {{"a", "", {0}}, {"a", "m", {1}}})).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(holder.Apply(MakeSnapshot(V(1), kServers, {{"a", "m", {0}}, {"b", "m", {1}}})).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(holder.map(), nullptr);
}

TEST(MapHolderTest, RefusesReplicasOnServersThatAreNotListed) {
  MapHolder holder;
  EXPECT_EQ(holder.Apply(MakeSnapshot(V(1), kServers, {{"a", "", {2}}})).code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(holder.Apply(MakeSnapshot(V(1), kServers, {{"a", "", {0}}})).ok());
  EXPECT_EQ(holder.Apply(MakeDelta(V(1), V(2), 0, {2})).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(holder.Apply(MakeDelta(V(1), V(2), 1, {0})).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(holder.map()->version(), V(1));
}

TEST(MapHolderTest, AServerThatIsGoneIsNotListedAnyMore) {
  MapHolder holder;
  ASSERT_TRUE(holder.Apply(MakeSnapshot(V(1), kServers, {{"a", "", {0}}, {"b", "m", {0}}})).ok());
  v1::MapDelta gone;
  *gone.mutable_from() = V(1).ToProto();
  *gone.mutable_version() = V(2).ToProto();
  gone.add_servers()->set_index(1);
  EXPECT_TRUE(holder.Apply(gone).ok());
  v1::MapDelta uses;
  *uses.mutable_from() = V(2).ToProto();
  *uses.mutable_version() = V(3).ToProto();
  uses.add_shards()->add_replicas()->set_server(1);
  EXPECT_TRUE(absl::IsInvalidArgument(holder.Apply(uses)));
}

TEST(MapHolderTest, RefusesAServerIndexThatWouldEatTheMemory) {
  MapHolder holder;
  v1::MapSnapshot whole = MakeSnapshot(V(1), kServers, {{"a", "", {0}}});
  whole.mutable_servers(1)->set_index(4'000'000'000u);
  EXPECT_EQ(holder.Apply(whole).code(), absl::StatusCode::kInvalidArgument);
}

// F11: a stale heartbeat reply overwrote newer state.
TEST(MapHolderTest, F11NeverGoesBack) {
  MapHolder holder;
  ASSERT_TRUE(holder.Apply(MakeSnapshot(V(5, 2), kServers, {{"a", "", {0}}})).ok());
  for (MapVersion old : {V(5, 2), V(4, 2), V(99, 1)}) {
    EXPECT_EQ(holder.Apply(MakeSnapshot(old, kServers, {{"a", "", {1}}})).code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(holder.Apply(MakeDelta(V(1, 1), old, 0, {1})).code(),
              absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_THAT(ServersOf(*holder.map(), "a"), ElementsAre("kv-0"));
}

TEST(MapHolderTest, RefusesADeltaFromAnotherVersion) {
  MapHolder holder;
  EXPECT_EQ(holder.Apply(MakeDelta(V(1), V(2), 0, {0})).code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(holder.Apply(MakeSnapshot(V(1), kServers, {{"a", "", {0}}})).ok());
  EXPECT_EQ(holder.Apply(MakeDelta(V(2), V(3), 0, {1})).code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(MapHolderTest, ADeltaSharesTheLayoutAndLeavesTheOldMapAsItWas) {
  MapHolder holder;
  ASSERT_TRUE(holder.Apply(MakeSnapshot(V(1), kServers, {{"a", "", {0}}, {"b", "m", {0}}})).ok());
  const auto before = holder.map();
  v1::MapDelta delta = MakeDelta(V(1), V(2), 1, {1});
  v1::MapServer* moved = delta.add_servers();
  moved->set_index(1);
  moved->set_name("kv-1");
  moved->set_endpoint("elsewhere:1");
  ASSERT_TRUE(holder.Apply(delta).ok());
  EXPECT_EQ(&before->layout(), &holder.map()->layout());
  EXPECT_THAT(ServersOf(*before, "b"), ElementsAre("kv-0"));
  EXPECT_THAT(ServersOf(*holder.map(), "b"), ElementsAre("kv-1"));
  EXPECT_EQ(before->server(ServerIndex(1)).endpoint, "h1:1");
  EXPECT_EQ(holder.map()->server(ServerIndex(1)).endpoint, "elsewhere:1");
}

TEST(MapHolderTest, ASnapshotOfTheSameShardsSharesTheLayout) {
  MapHolder holder;
  ASSERT_TRUE(holder.Apply(MakeSnapshot(V(1), kServers, {{"a", "", {0}}, {"b", "m", {0}}})).ok());
  const auto before = holder.map();
  ASSERT_TRUE(holder.Apply(MakeSnapshot(V(2), kServers, {{"a", "", {1}}, {"b", "m", {1}}})).ok());
  EXPECT_EQ(&before->layout(), &holder.map()->layout());
  ASSERT_TRUE(holder.Apply(MakeSnapshot(V(3), kServers, {{"a", "", {1}}, {"b", "n", {1}}})).ok());
  EXPECT_NE(&before->layout(), &holder.map()->layout());
}

TEST(MapHolderTest, CountsShardsThatNobodyServes) {
  MapHolder holder;
  ASSERT_TRUE(holder.Apply(MakeSnapshot(V(1), kServers, {{"a", "", {0}}, {"b", "m", {}}})).ok());
  EXPECT_EQ(holder.unserved(), 1u);
  EXPECT_EQ(holder.FirstUnserved(), ShardIndex(1));
  ASSERT_TRUE(holder.Apply(MakeDelta(V(1), V(2), 1, {1})).ok());
  EXPECT_EQ(holder.unserved(), 0u);
  EXPECT_FALSE(holder.FirstUnserved().valid());
  ASSERT_TRUE(holder.Apply(MakeDelta(V(2), V(3), 0, {})).ok());
  EXPECT_EQ(holder.unserved(), 1u);
}

TEST(MapHolderTest, NamesEndpointsThatServeNothingAnyMore) {
  MapHolder holder;
  ASSERT_TRUE(
      holder.Apply(MakeSnapshot(V(1), kServers, {{"a", "", {0}}, {"b", "g", {0}}, {"c", "p", {1}}}))
          .ok());
  EXPECT_THAT(holder.TakeAbandonedEndpoints(), IsEmpty());
  ASSERT_TRUE(holder.Apply(MakeDelta(V(1), V(2), 0, {1})).ok());
  EXPECT_THAT(holder.TakeAbandonedEndpoints(), IsEmpty()) << "kv-0 still serves b";
  ASSERT_TRUE(holder.Apply(MakeDelta(V(2), V(3), 1, {1})).ok());
  EXPECT_THAT(holder.TakeAbandonedEndpoints(), ElementsAre("h0:1"));
  v1::MapDelta moved = MakeDelta(V(3), V(4), 0, {1});
  *moved.add_servers() = MakeSnapshot(V(1), {{}, {"kv-1", "h9:1", ""}}, {}).servers(1);
  ASSERT_TRUE(holder.Apply(moved).ok());
  EXPECT_THAT(holder.TakeAbandonedEndpoints(), ElementsAre("h1:1"));
  ASSERT_TRUE(holder.Apply(MakeSnapshot(V(5), {}, {})).ok());
  EXPECT_THAT(holder.TakeAbandonedEndpoints(), ElementsAre("h9:1"));
}

TEST(MapHolderTest, SaysWhetherAShardHasOtherServersNow) {
  MapHolder holder;
  ASSERT_TRUE(holder.Apply(MakeSnapshot(V(1), kServers, {{"a", "", {0}}, {"b", "m", {0}}})).ok());
  const auto before = holder.map();
  ASSERT_TRUE(holder.Apply(MakeDelta(V(1), V(2), 1, {1})).ok());
  EXPECT_TRUE(SameServers(*before, ShardIndex(0), *holder.map(), ShardIndex(0)));
  EXPECT_FALSE(SameServers(*before, ShardIndex(1), *holder.map(), ShardIndex(1)));
}

TEST(MapHolderPropertyTest, DeltasLeadToTheSameMapAsAFreshSnapshot) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    std::vector<TestServer> servers;
    for (int i = 0; i < 5; ++i)
      servers.push_back({absl::StrCat("kv-", i), absl::StrCat("h", i), ""});
    std::vector<TestShard> shards;
    for (uint64_t i = 0; i < 1 + random.Below(700); ++i) {  // several blocks
      shards.push_back({absl::StrCat("s", i), absl::StrCat("k", 1'000 + i), {}});
    }
    MapHolder by_deltas;
    ASSERT_TRUE(by_deltas.Apply(MakeSnapshot(V(1), servers, shards)).ok());
    for (uint64_t v = 1; v <= 100; ++v) {
      const auto shard = static_cast<uint32_t>(random.Below(shards.size()));
      shards[shard].servers.assign(random.Below(4), static_cast<uint32_t>(random.Below(5)));
      ASSERT_TRUE(by_deltas.Apply(MakeDelta(V(v), V(v + 1), shard, shards[shard].servers)).ok());
    }
    MapHolder fresh;
    ASSERT_TRUE(fresh.Apply(MakeSnapshot(V(101), servers, shards)).ok());
    ASSERT_EQ(by_deltas.unserved(), fresh.unserved());
    for (size_t i = 0; i < shards.size(); ++i) {
      ASSERT_TRUE(SameServers(*by_deltas.map(), ShardIndex(i), *fresh.map(), ShardIndex(i)))
          << "seed " << seed << " shard " << i;
    }
  }
}

}  // namespace
}  // namespace shardmanager::router
