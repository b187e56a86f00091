// Where a region has not room for all shards that prefer it.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "allocator/allocator.h"

namespace shardmanager::allocator {
namespace {

void Apply(Snapshot& snapshot, const Plan& plan) {
  for (const Move& move : plan.moves) snapshot.shards[move.shard.index()].replicas = {{move.to}};
}

// Shards that all prefer region 1, in which `servers` servers have room for `room` shards each; the
// shard i weighs 1 + i % 10. They are all in region 0, which has room for all.
Snapshot ManyWantOneRegion(uint32_t servers, uint32_t room, uint32_t shards) {
  Snapshot snapshot;
  for (uint32_t i = 0; i < 2 * servers; ++i) {
    snapshot.servers.push_back(
        {.server = ServerIndex(i), .region = i % 2, .datacenter = i, .rack = i});
  }
  for (ServerInfo& server : snapshot.servers) server.capacity = server.region == 1 ? room : shards;
  for (uint32_t i = 0; i < shards; ++i) {
    snapshot.shards.push_back({.shard = ShardIndex(i)});
    snapshot.shards[i].replicas = {{ServerIndex(2 * (i % servers))}};
    snapshot.shards[i].preferred_region = 1;
    snapshot.shards[i].preference_weight = 1 + i % 10;
  }
  return snapshot;
}

std::map<uint32_t, int> WeightsInRegion1(const Snapshot& snapshot) {
  std::map<uint32_t, int> weights;
  for (const ShardInfo& shard : snapshot.shards) {
    for (const ReplicaInfo& r : shard.replicas) {
      if (snapshot.servers[r.server.index()].region == 1) ++weights[shard.preference_weight];
    }
  }
  return weights;
}

const Options kAllAtOnce{.moves = {.total = 1'000, .per_server = 1'000}};

TEST(PreferenceWeightsTest, WhereARegionHasNotRoomForAllTheHeavyOnesAreThere) {
  Snapshot snapshot = ManyWantOneRegion(4, 5, 100);
  Apply(snapshot, Solve(snapshot, kAllAtOnce));
  EXPECT_EQ(WeightsInRegion1(snapshot), (std::map<uint32_t, int>{{10, 10}, {9, 10}}));
}

TEST(PreferenceWeightsTest, ShardsWithoutAPlaceComeByWeight) {
  Snapshot snapshot = ManyWantOneRegion(4, 5, 100);
  for (ShardInfo& shard : snapshot.shards) shard.replicas.clear();
  Apply(snapshot, Solve(snapshot, {.mode = Mode::kEmergency}));
  EXPECT_EQ(WeightsInRegion1(snapshot), (std::map<uint32_t, int>{{10, 10}, {9, 10}}));
}

TEST(PreferenceWeightsTest, AHeavyShardTakesThePlaceOfALightOne) {
  Snapshot snapshot = ManyWantOneRegion(4, 5, 100);
  int there = 0;
  for (ShardInfo& shard : snapshot.shards) {  // the light ones have it
    if (shard.preference_weight > 2) continue;
    shard.replicas = {{ServerIndex(1 + 2 * static_cast<uint32_t>(there++ % 4))}};
  }
  ASSERT_EQ(WeightsInRegion1(snapshot), (std::map<uint32_t, int>{{1, 10}, {2, 10}}));
  Apply(snapshot, Solve(snapshot, kAllAtOnce));
  EXPECT_EQ(WeightsInRegion1(snapshot), (std::map<uint32_t, int>{{10, 10}, {9, 10}}));
  EXPECT_TRUE(Solve(snapshot, kAllAtOnce).moves.empty());
}

TEST(PreferenceWeightsTest, ThoseThatWeighTheSameDoNotTradePlaces) {
  Snapshot snapshot = ManyWantOneRegion(4, 5, 100);
  for (ShardInfo& shard : snapshot.shards) shard.preference_weight = 7;
  Apply(snapshot, Solve(snapshot, kAllAtOnce));
  EXPECT_EQ(WeightsInRegion1(snapshot), (std::map<uint32_t, int>{{7, 20}}));
  EXPECT_TRUE(Solve(snapshot, kAllAtOnce).moves.empty());
}

TEST(PreferenceWeightsTest, WhereFewMayMoveTheHeavyOnesGoFirst) {
  Snapshot snapshot = ManyWantOneRegion(4, 25, 100);
  const Plan plan = Solve(snapshot, {.moves = {.total = 10, .per_server = 10}});
  ASSERT_EQ(plan.moves.size(), 10u);
  for (const Move& move : plan.moves) {
    EXPECT_EQ(snapshot.shards[move.shard.index()].preference_weight, 10u);
  }
}

// Weights rank shards among each other, and nothing else: a drain, and what the spec wants of each
// region, count for as much as they do without them.
TEST(PreferenceWeightsTest, WeightsCountForNothingAgainstOtherGoals) {
  Snapshot snapshot = ManyWantOneRegion(1, 1, 1);
  snapshot.shards[0].preference_weight = 100;
  snapshot.shards[0].replicas = {{ServerIndex(1)}};
  snapshot.servers[1].accepts = false;
  snapshot.servers[1].draining = snapshot.servers[1].ordered = true;
  EXPECT_EQ(Solve(snapshot, kAllAtOnce).moves.size(), 1u);

  Snapshot wishes = ManyWantOneRegion(1, 10, 2);
  wishes.region_wishes = {{.region = 0, .replicas = 1}};
  wishes.servers[1].other_replicas = 5;  // balance gains nothing there
  for (const uint32_t weight : {1u, 100u}) {
    wishes.shards[0].preference_weight = weight;
    EXPECT_TRUE(Solve(wishes, kAllAtOnce).moves.empty()) << weight;
  }
}

}  // namespace
}  // namespace shardmanager::allocator
