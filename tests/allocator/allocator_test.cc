#include "allocator/allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/random.h"
#include "tests/allocator/fleets.h"

namespace shardmanager::allocator {
namespace {

std::map<uint32_t, int> Counts(const Snapshot& snapshot) {
  std::map<uint32_t, int> counts;
  for (const ServerInfo& server : snapshot.servers) counts[server.server.index()] = 0;
  for (const ShardInfo& shard : snapshot.shards) {
    for (const ReplicaInfo& replica : shard.replicas) ++counts[replica.server.index()];
  }
  return counts;
}

std::pair<int, int> MinMax(const Snapshot& snapshot) {
  auto counts = Counts(snapshot);
  auto [low, high] = std::minmax_element(counts.begin(), counts.end(),
                                         [](auto& a, auto& b) { return a.second < b.second; });
  return {low->second, high->second};
}

TEST(AllocatorTest, EmergencyPlacesEveryMissingReplicaEvenly) {
  Snapshot snapshot = Fleet(6, 3);
  AddShards(snapshot, 120);
  const Plan plan = Solve(snapshot, {.mode = Mode::kEmergency});
  EXPECT_EQ(plan.moves.size(), 120u);
  EXPECT_TRUE(plan.skipped.empty());
  Apply(snapshot, plan);
  EXPECT_EQ(MinMax(snapshot), std::make_pair(20, 20));
}

TEST(AllocatorTest, CountsReplicasOfShardsThatTheSnapshotLeavesOut) {
  Snapshot snapshot = Fleet(2, 1);
  snapshot.servers[0].other_replicas = 5;
  AddShards(snapshot, 5);
  const Plan plan = Solve(snapshot, {.mode = Mode::kEmergency});
  for (const Move& move : plan.moves) EXPECT_EQ(move.to, ServerIndex(1));
}

TEST(AllocatorTest, SpreadsReplicasOverRegionsAndNeverSharesAFaultDomain) {
  Snapshot snapshot = Fleet(6, 3);
  snapshot.spread = Spread::kRegion;
  AddShards(snapshot, 50, 3);
  Apply(snapshot, Solve(snapshot, {.mode = Mode::kEmergency}));
  for (const ShardInfo& shard : snapshot.shards) {
    std::set<uint32_t> regions;
    for (const ReplicaInfo& r : shard.replicas) regions.insert(r.server.index() % 3);
    EXPECT_EQ(regions.size(), 3u);
  }
}

// Of each shard: how many replicas the region has that has most of them.
std::map<int, int> MostInARegion(const Snapshot& snapshot) {
  std::map<int, int> counts;
  for (const ShardInfo& shard : snapshot.shards) {
    std::map<uint32_t, int> regions;
    int most = 0;
    for (const ReplicaInfo& r : shard.replicas) {
      most = std::max(most, ++regions[snapshot.servers[r.server.index()].region]);
    }
    ++counts[most];
  }
  return counts;
}

TEST(AllocatorTest, ALimitOfSpreadIsKeptAgainstAPreferredRegion) {
  Snapshot snapshot = Fleet(12, 3);
  snapshot.region_wishes = {{.region = 0, .replicas = 3}};
  AddShards(snapshot, 40, 4);
  Apply(snapshot, Solve(snapshot, {.mode = Mode::kEmergency}));
  for (int i = 0; i < 20; ++i) Apply(snapshot, Solve(snapshot, {}));
  ASSERT_EQ(MostInARegion(snapshot), (std::map<int, int>{{3, 40}}));

  snapshot.spread_limits = {{.level = Spread::kRegion, .most = 2}};
  for (int i = 0; i < 20; ++i) Apply(snapshot, Solve(snapshot, {}));
  EXPECT_EQ(MostInARegion(snapshot), (std::map<int, int>{{2, 40}}));
}

TEST(AllocatorTest, AHardLimitOfSpreadKeepsAReplicaOutASoftOneDoesNot) {
  for (const bool soft : {false, true}) {
    Snapshot snapshot = Fleet(6, 2);
    snapshot.spread_limits = {{.level = Spread::kRegion, .most = 2, .soft = soft}};
    AddShards(snapshot, 10, 5);
    const Plan plan = Solve(snapshot, {.mode = Mode::kEmergency});
    EXPECT_EQ(plan.moves.size(), soft ? 50u : 40u);
    ASSERT_EQ(plan.skipped.size(), soft ? 0u : 10u);
    if (!soft) {
      EXPECT_EQ(plan.skipped[0].reason, SkipReason::kNoFaultDomain);
    }
  }
}

TEST(AllocatorTest, ASoftLimitOfSpreadLetsReplicasStandTogether) {
  Snapshot snapshot = Fleet(9, 3);
  snapshot.spread_limits = {{.level = Spread::kRegion, .most = 3, .soft = true}};
  AddShards(snapshot, 12, 3);
  for (uint32_t i = 0; i < 12; ++i) {
    const uint32_t region = i % 3;
    snapshot.shards[i].replicas = {
        {ServerIndex(region)}, {ServerIndex(region + 3)}, {ServerIndex(region + 6)}};
  }
  EXPECT_TRUE(Solve(snapshot, {}).moves.empty());

  snapshot.spread_limits.clear();
  for (int i = 0; i < 5; ++i) Apply(snapshot, Solve(snapshot, {}));
  EXPECT_EQ(MostInARegion(snapshot), (std::map<int, int>{{1, 12}}));
}

TEST(AllocatorTest, SeveralLevelsOfSpreadHoldAtOnce) {
  // Two regions of three datacenters of two servers.
  Snapshot snapshot;
  for (uint32_t i = 0; i < 12; ++i) {
    snapshot.servers.push_back(
        {.server = ServerIndex(i), .region = i / 6, .datacenter = i / 2, .rack = i});
  }
  snapshot.spread = Spread::kRack;
  snapshot.spread_limits = {{.level = Spread::kRegion, .most = 2},
                            {.level = Spread::kDatacenter, .most = 1}};
  AddShards(snapshot, 60, 4);
  Apply(snapshot, Solve(snapshot, {.mode = Mode::kEmergency}));
  for (const ShardInfo& shard : snapshot.shards) {
    ASSERT_EQ(shard.replicas.size(), 4u);
    std::set<uint32_t> datacenters;
    for (const ReplicaInfo& r : shard.replicas) datacenters.insert(r.server.index() / 2);
    EXPECT_EQ(datacenters.size(), 4u);
  }
  EXPECT_EQ(MostInARegion(snapshot), (std::map<int, int>{{2, 60}}));
}

TEST(AllocatorTest, SaysWhyAReplicaCannotBePlaced) {
  Snapshot none;
  AddShards(none, 1);
  EXPECT_EQ(Solve(none, {}).skipped.at(0).reason, SkipReason::kNoServers);

  Snapshot full = Fleet(1, 1);
  full.servers[0].capacity = 1;
  AddShards(full, 2);
  EXPECT_EQ(Solve(full, {}).skipped.at(0).reason, SkipReason::kNoCapacity);

  Snapshot narrow = Fleet(2, 1);
  narrow.spread = Spread::kRegion;
  AddShards(narrow, 1, 2);
  EXPECT_EQ(Solve(narrow, {}).skipped.at(0).reason, SkipReason::kNoFaultDomain);

  Snapshot failed = Fleet(2, 1);
  AddShards(failed, 1);
  failed.shards[0].avoided = {ServerIndex(0), ServerIndex(1)};
  EXPECT_EQ(Solve(failed, {.mode = Mode::kEmergency}).skipped.at(0).reason, SkipReason::kAvoided);
}

TEST(AllocatorTest, GivesNoShardToServersThatAreAvoidedForIt) {
  Snapshot snapshot = Fleet(3, 3);
  AddShards(snapshot, 9);
  for (int i = 0; i < 6; ++i) snapshot.shards[i].avoided = {ServerIndex(2)};
  Apply(snapshot, Solve(snapshot, {.mode = Mode::kEmergency}));
  for (int i = 0; i < 6; ++i) EXPECT_NE(snapshot.shards[i].replicas.at(0).server, ServerIndex(2));
  Apply(snapshot, Solve(snapshot, {}));
  for (int i = 0; i < 6; ++i) EXPECT_NE(snapshot.shards[i].replicas.at(0).server, ServerIndex(2));
  EXPECT_EQ(MinMax(snapshot), std::pair(3, 3));
  EXPECT_TRUE(Solve(snapshot, {}).moves.empty());
}

TEST(AllocatorTest, WhatIsAvoidedCountsForNothing) {
  Snapshot snapshot = Fleet(3, 3);
  AddShards(snapshot, 9, 2);
  Apply(snapshot, Solve(snapshot, {.mode = Mode::kEmergency}));
  Apply(snapshot, Solve(snapshot, {}));
  for (ShardInfo& shard : snapshot.shards) {
    for (uint32_t s = 0; s < 3; ++s) {
      const bool there =
          std::any_of(shard.replicas.begin(), shard.replicas.end(),
                      [&](const ReplicaInfo& r) { return r.server == ServerIndex(s); });
      if (!there) shard.avoided.push_back(ServerIndex(s));
    }
  }
  EXPECT_TRUE(Solve(snapshot, {}).moves.empty());
}

TEST(AllocatorTest, AReplicaOnAServerThatIsAvoidedMayStay) {
  Snapshot snapshot = Fleet(3, 3);
  AddShards(snapshot, 3);
  for (uint32_t i = 0; i < 3; ++i) {
    snapshot.shards[i].replicas = {{ServerIndex(i)}};
    snapshot.shards[i].avoided = {ServerIndex(i)};
  }
  EXPECT_TRUE(Solve(snapshot, {}).moves.empty());
}

TEST(AllocatorTest, GivesNothingToServersThatDoNotAccept) {
  Snapshot snapshot = Fleet(2, 1);
  snapshot.servers[0].accepts = false;
  AddShards(snapshot, 4);
  for (const Move& move : Solve(snapshot, {}).moves) EXPECT_EQ(move.to, ServerIndex(1));
}

TEST(AllocatorTest, PrefersTheShardsRegionWhileItHasRoom) {
  Snapshot snapshot = Fleet(6, 3);
  AddShards(snapshot, 10);
  for (ShardInfo& shard : snapshot.shards) shard.preferred_region = 2;
  Apply(snapshot, Solve(snapshot, {.mode = Mode::kEmergency}));
  for (const ShardInfo& shard : snapshot.shards) {
    EXPECT_EQ(shard.replicas.at(0).server.index() % 3, 2u);
  }
}

TEST(AllocatorTest, PeriodicMovesStrayShardsIntoTheirPreferredRegion) {
  Snapshot snapshot = Fleet(2, 2);
  AddShards(snapshot, 1);
  snapshot.shards[0].replicas = {{ServerIndex(0)}};
  snapshot.shards[0].preferred_region = 1;
  const Plan plan = Solve(snapshot, {});
  ASSERT_EQ(plan.moves.size(), 1u);
  EXPECT_EQ(plan.moves[0].to, ServerIndex(1));
  EXPECT_EQ(plan.moves[0].reason, MoveReason::kRegionPreference);
}

// The servers of the region are all above their share, and two of them hold the shard already.
TEST(AllocatorTest, TheLastReplicaComesToItsCrowdedRegionWhateverTheSeed) {
  Snapshot snapshot = Fleet(12, 3);
  snapshot.region_wishes = {{.region = 1, .replicas = 3}};
  AddShards(snapshot, 30, 3);
  for (uint32_t i = 0; i < 30; ++i) {
    for (uint32_t r = 0; r < 3; ++r) {
      const uint32_t position = (i + r) % 4;  // among the four of region 1
      snapshot.shards[i].replicas.push_back({ServerIndex(1 + 3 * position)});
    }
  }
  snapshot.shards[24].replicas[2] = {ServerIndex(0)};
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const Plan plan = Solve(snapshot, {.seed = seed});
    Snapshot after = snapshot;
    Apply(after, plan);
    EXPECT_EQ(MostInARegion(after), (std::map<int, int>{{3, 30}})) << "seed " << seed;
  }
}

TEST(AllocatorTest, PeriodicKeepsTheMoveBudgets) {
  Snapshot snapshot = Fleet(3, 1);
  AddShards(snapshot, 90);
  for (ShardInfo& shard : snapshot.shards) shard.replicas = {{ServerIndex(0)}};
  const Plan plan = Solve(snapshot, {.moves = {.total = 20, .per_server = 5}});
  EXPECT_EQ(plan.moves.size(), 5u);
}

TEST(AllocatorTest, DrainsHaveLimitsOfTheirOwn) {
  Snapshot snapshot = Fleet(4, 1);
  snapshot.servers[0].draining = snapshot.servers[0].ordered = true;
  AddShards(snapshot, 90);
  for (size_t i = 0; i < 90; ++i) {
    snapshot.shards[i].replicas = {{ServerIndex(i < 40 ? 0 : 1)}};
  }
  const Options options{.moves = {.total = 2, .per_server = 5},
                        .drain_moves = {.total = 20, .per_server = 6}};
  std::map<ServerIndex, int> from;
  for (const Move& move : Solve(snapshot, options).moves) ++from[move.from];
  EXPECT_EQ(from[ServerIndex(0)], 6);
  EXPECT_EQ(from[ServerIndex(1)], 2);
}

TEST(AllocatorTest, MovesUnderWayCountForTheLimitOfTheirServers) {
  Snapshot snapshot = Fleet(3, 1);
  AddShards(snapshot, 90);
  for (ShardInfo& shard : snapshot.shards) shard.replicas = {{ServerIndex(0)}};
  snapshot.servers[1].moves = 4;
  snapshot.servers[2].moves = 9;
  const Plan plan = Solve(snapshot, {.moves = {.total = 20, .per_server = 5}});
  ASSERT_EQ(plan.moves.size(), 1u);
  EXPECT_EQ(plan.moves[0].to, ServerIndex(1));
}

// Full servers, and shards that each prefer the other's region: only a trade helps.
TEST(AllocatorTest, ATradeThatTheMoveBudgetHasNoRoomForIsNotMade) {
  Snapshot snapshot = Fleet(2, 2);
  for (ServerInfo& server : snapshot.servers) server.capacity = 1;
  AddShards(snapshot, 2);
  for (uint32_t i = 0; i < 2; ++i) {
    snapshot.shards[i].replicas = {{ServerIndex(i)}};
    snapshot.shards[i].preferred_region = 1 - i;
  }
  EXPECT_EQ(Solve(snapshot, {.moves = {.total = 2}}).moves.size(), 2u);
  EXPECT_TRUE(Solve(snapshot, {.moves = {.total = 1}}).moves.empty());
}

TEST(AllocatorTest, LeavesReplicasUnderMigrationAlone) {
  Snapshot snapshot = Fleet(2, 1);
  AddShards(snapshot, 10);
  for (ShardInfo& shard : snapshot.shards) {
    shard.replicas = {{ServerIndex(0), Role::kPrimary, /*movable=*/false}};
  }
  EXPECT_TRUE(Solve(snapshot, {}).moves.empty());
}

// F20: an assignment that bounced between two servers for ever.
TEST(AllocatorTest, F20_RepeatedSolvingComesToRest) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    Snapshot snapshot = Fleet(2 + static_cast<uint32_t>(random.Below(12)), 3);
    AddShards(snapshot, 100, 1 + static_cast<uint32_t>(random.Below(2)));
    for (ShardInfo& shard : snapshot.shards) {
      if (random.Below(2) == 0) shard.preferred_region = static_cast<uint32_t>(random.Below(3));
      shard.replicas = {{ServerIndex(random.Below(snapshot.servers.size()))}};
    }
    int rounds = 0;
    for (Plan plan = Solve(snapshot, {}); !plan.moves.empty(); plan = Solve(snapshot, {})) {
      Apply(snapshot, plan);
      ASSERT_LT(++rounds, 200) << "seed " << seed;
    }
  }
}

// One metric; `load` of each shard, all on server 0.
Snapshot LoadedFleet(uint32_t servers, const std::vector<float>& load, double capacity) {
  Snapshot snapshot = Fleet(servers, 1);
  snapshot.metrics = {{.name = "cpu"}};
  snapshot.capacity.assign(servers, capacity);
  snapshot.other_load.assign(servers, 0);
  AddShards(snapshot, static_cast<uint32_t>(load.size()));
  for (size_t i = 0; i < load.size(); ++i) {
    snapshot.shards[i].replicas = {{ServerIndex(0)}};
    snapshot.load.insert(snapshot.load.end(), {load[i], load[i]});
  }
  return snapshot;
}

std::vector<double> LoadOnServers(const Snapshot& snapshot, const std::vector<float>& load) {
  std::vector<double> sums(snapshot.servers.size());
  for (size_t i = 0; i < load.size(); ++i) {
    sums[snapshot.shards[i].replicas.at(0).server.index()] += load[i];
  }
  return sums;
}

TEST(AllocatorTest, BalancesLoadWithAndWithoutCapacities) {
  std::vector<float> load(40, 1);
  for (size_t i = 0; i < 40; i += 10) load[i] = 9;  // 72 in all
  for (const double capacity : {25.0, std::numeric_limits<double>::infinity()}) {
    Snapshot snapshot = LoadedFleet(4, load, capacity);
    Apply(snapshot, Solve(snapshot, {.moves = {.total = 100, .per_server = 100}}));
    for (const double sum : LoadOnServers(snapshot, load)) EXPECT_LE(sum, 18 * 1.1 + 1e-6);
  }
}

// Four shards of one load on server 0; those of the first `left` ones left server 1 for balance.
Snapshot AfterBalance(size_t left) {
  Snapshot snapshot = LoadedFleet(2, {1, 1, 1, 1}, 10);
  for (size_t i = 0; i < left; ++i) snapshot.shards[i].left = {ServerIndex(1)};
  return snapshot;
}

TEST(AllocatorTest, BalanceTakesThoseThatDidNotComeFromThere) {
  const Plan plan = Solve(AfterBalance(2), {});
  ASSERT_EQ(plan.moves.size(), 2u);
  for (const Move& move : plan.moves) EXPECT_GE(move.shard, ShardIndex(2));
  EXPECT_EQ(Solve(AfterBalance(3), {}).moves.size(), 1u);
  EXPECT_TRUE(Solve(AfterBalance(4), {}).moves.empty());
}

TEST(AllocatorTest, OverTheThresholdNothingGoesBackEither) {
  Snapshot snapshot = AfterBalance(4);
  snapshot.capacity = {4.2, 4.2};
  ASSERT_GT(4.0, 4.2 * snapshot.metrics[0].threshold);
  EXPECT_TRUE(Solve(snapshot, {}).moves.empty());
}

TEST(AllocatorTest, WhatHasToGoGoesBack) {
  Snapshot full = AfterBalance(4);
  full.capacity = {3.1, 10};  // a hard limit
  EXPECT_EQ(Solve(full, {}).moves.size(), 1u);

  for (const bool ordered : {false, true}) {
    Snapshot emptied = AfterBalance(4);
    emptied.servers[0].accepts = false;
    emptied.servers[0].draining = true;
    emptied.servers[0].ordered = ordered;
    EXPECT_EQ(Solve(emptied, {}).moves.size(), 4u) << ordered;
  }

  Snapshot preferred = AfterBalance(4);
  preferred.servers[1].region = 1;
  preferred.shards[2].preferred_region = 1;
  const Plan plan = Solve(preferred, {});
  ASSERT_EQ(plan.moves.size(), 1u);
  EXPECT_EQ(plan.moves[0].shard, ShardIndex(2));

  Snapshot missing = AfterBalance(4);
  missing.shards[3].replicas.clear();
  missing.load.pop_back();  // one row for it
  EXPECT_EQ(Solve(missing, {.mode = Mode::kEmergency}).moves.at(0).to, ServerIndex(1));
}

TEST(AllocatorTest, SpreadCallsAReplicaBack) {
  Snapshot snapshot = Fleet(3, 1);
  snapshot.servers[2].region = 1;
  AddShards(snapshot, 1, 2);
  snapshot.shards[0].replicas = {{ServerIndex(0)}, {ServerIndex(1)}};
  snapshot.shards[0].left = {ServerIndex(2)};
  const Plan plan = Solve(snapshot, {});
  ASSERT_EQ(plan.moves.size(), 1u);
  EXPECT_EQ(plan.moves[0].to, ServerIndex(2));
  EXPECT_EQ(plan.moves[0].reason, MoveReason::kSpread);
}

// A server that is to be emptied is left for the other one, not for that one, if balance is all
// that the two differ in; what it has to leave is free to go to both.
TEST(AllocatorTest, WhatLeavesADrainGoesWhereThereIsMostRoom) {
  Snapshot snapshot = LoadedFleet(3, {1, 1}, 10);
  snapshot.other_load = {0, 0, 5};
  snapshot.servers[0].accepts = false;
  snapshot.servers[0].draining = snapshot.servers[0].ordered = true;
  for (ShardInfo& shard : snapshot.shards) shard.left = {ServerIndex(1)};
  const Plan plan = Solve(snapshot, {});
  ASSERT_EQ(plan.moves.size(), 2u);
  for (const Move& move : plan.moves) EXPECT_EQ(move.to, ServerIndex(1));
}

TEST(AllocatorTest, PutsNothingWhereItsLoadIsTooMuch) {
  Snapshot snapshot = LoadedFleet(2, {3, 3, 3}, 6);
  for (ShardInfo& shard : snapshot.shards) shard.replicas.clear();
  snapshot.load = {3, 3, 3};  // missing
  snapshot.other_load = {4, 0};
  const Plan plan = Solve(snapshot, {.mode = Mode::kEmergency});
  ASSERT_EQ(plan.moves.size(), 2u);
  for (const Move& move : plan.moves) EXPECT_EQ(move.to, ServerIndex(1));
  ASSERT_EQ(plan.skipped.size(), 1u);
  EXPECT_EQ(plan.skipped[0].reason, SkipReason::kNoCapacity);
}

// The sum over a whole fleet may be more than any number that makes sense.
TEST(AllocatorTest, PlacesAlsoWhereLoadsAreAbsurd) {
  Snapshot snapshot = LoadedFleet(2, {1e12F}, std::numeric_limits<double>::infinity());
  snapshot.shards[0].replicas.clear();
  snapshot.load = {1e12F};
  snapshot.other_load = {1e18, 0};
  const Plan plan = Solve(snapshot, {.mode = Mode::kEmergency});
  ASSERT_EQ(plan.moves.size(), 1u);
  EXPECT_EQ(plan.moves[0].to, ServerIndex(1));
}

TEST(AllocatorTest, EmptiesAServerThatIsDraining) {
  Snapshot snapshot = Fleet(3, 1);
  AddShards(snapshot, 6);
  for (uint32_t i = 0; i < 6; ++i) snapshot.shards[i].replicas = {{ServerIndex(i % 3)}};
  snapshot.servers[0].accepts = false;
  snapshot.servers[0].draining = true;
  const Plan plan = Solve(snapshot, {});
  ASSERT_EQ(plan.moves.size(), 2u);
  for (const Move& move : plan.moves) {
    EXPECT_EQ(move.from, ServerIndex(0));
    EXPECT_EQ(move.reason, MoveReason::kMaintenance);
  }
}

TEST(AllocatorTest, EndsWithinTheStepBudget) {
  Snapshot snapshot = Fleet(50, 3);
  AddShards(snapshot, 10'000);
  const Plan plan = Solve(snapshot, {.mode = Mode::kEmergency, .step_budget = 100});
  EXPECT_LE(plan.moves.size(), 100u);
}

}  // namespace
}  // namespace shardmanager::allocator
