// The goals of shard placement, and what the solver says about them.
#include "allocator/placement/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "allocator/solver/explain.h"
#include "allocator/solver/search.h"
#include "base/random.h"

namespace shardmanager::allocator {
namespace {

using solver::ContainerId;
using solver::ObjectId;
using solver::Search;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Six servers in three regions, each with room for 1 of "cpu".
PlacementInput SixServers() {
  PlacementInput in;
  in.metrics = {{.name = "cpu"}};
  for (uint32_t s = 0; s < 6; ++s) {
    in.servers.push_back({.region = s % 3, .datacenter = s, .rack = s});
  }
  in.capacity.assign(6, 1.0);
  return in;
}

void AddShard(PlacementInput& in, std::vector<uint32_t> servers, double load) {
  for (uint32_t server : servers) {
    in.server_of.push_back(server);
    in.load.push_back(load);
  }
  in.shard_begin.push_back(in.replicas());
}

// The model and a search that has descended.
struct Solved {
  explicit Solved(const PlacementInput& in)
      : placement(std::move(PlacementModel::Make(in).value())), search(placement->model(), {}) {
    search.Descend();
  }
  uint32_t where(uint32_t replica) { return search.Where()[ObjectId(replica)].index(); }
  std::unique_ptr<PlacementModel> placement;
  Search search;
};

TEST(PlacementTest, ReplicasOfAShardStandInDifferentRegions) {
  PlacementInput in = SixServers();
  AddShard(in, {0, 3, 3}, 0.1);
  Solved solved(in);
  std::set<uint32_t> regions;
  for (uint32_t r = 0; r < 3; ++r) regions.insert(in.servers[solved.where(r)].region);
  EXPECT_EQ(regions.size(), 3u);
}

// One shard of two replicas. The first one fits on server 0 only; the second one is at `from`, and
// is moved to where it shares least with the first one.
uint32_t SecondGoesTo(PlacementInput in, uint32_t from) {
  in.metrics = {{.name = "cpu"}};
  in.capacity.assign(in.servers.size(), 0.1);
  in.capacity[0] = 0.5;
  AddShard(in, {0, from}, 0.1);
  in.load[0] = 0.5;
  Solved solved(in);
  EXPECT_EQ(solved.where(0), 0u);
  return solved.where(1);
}

TEST(PlacementTest, ReplicasShareARegionRatherThanADatacenterRatherThanARack) {
  PlacementInput in;
  in.servers = {{.region = 0, .datacenter = 0, .rack = 0},
                {.region = 0, .datacenter = 0, .rack = 0},
                {.region = 0, .datacenter = 0, .rack = 1},
                {.region = 0, .datacenter = 1, .rack = 2},
                {.region = 1, .datacenter = 2, .rack = 3}};
  for (uint32_t best = 4; best > 1; --best) {
    EXPECT_EQ(SecondGoesTo(in, 1), best);
    in.servers.pop_back();
  }
}

// Not only because a rack is in a region: each level has a weight of its own.
TEST(PlacementTest, ASharedRegionWeighsMoreThanASharedDatacenterAndRack) {
  PlacementInput in;
  in.servers = {{.region = 0, .datacenter = 0, .rack = 0},
                {.region = 0, .datacenter = 1, .rack = 1},   // shares the region
                {.region = 1, .datacenter = 0, .rack = 0}};  // shares the rest
  EXPECT_EQ(SecondGoesTo(in, 1), 2u);
  EXPECT_EQ(SecondGoesTo(in, 2), 2u);
}

TEST(PlacementTest, ASharedDatacenterWeighsMoreThanASharedRack) {
  PlacementInput in;
  in.servers = {{.region = 0, .datacenter = 0, .rack = 0},
                {.region = 0, .datacenter = 0, .rack = 1},
                {.region = 0, .datacenter = 1, .rack = 0}};
  EXPECT_EQ(SecondGoesTo(in, 1), 2u);
  EXPECT_EQ(SecondGoesTo(in, 2), 2u);
}

TEST(PlacementTest, APreferredRegionCountsMoreThanBalance) {
  PlacementInput in = SixServers();
  for (int i = 0; i < 9; ++i) {
    AddShard(in, {0}, 0.1);
    in.preferred_region.push_back(1);
  }
  Solved solved(in);
  for (uint32_t r = 0; r < 9; ++r) EXPECT_EQ(in.servers[solved.where(r)].region, 1u);
}

TEST(PlacementTest, ADrainingServerIsEmptied) {
  PlacementInput in = SixServers();
  in.servers[2].draining = true;
  for (int i = 0; i < 5; ++i) AddShard(in, {2}, 0.1);
  Solved solved(in);
  for (uint32_t r = 0; r < 5; ++r) EXPECT_NE(solved.where(r), 2u);
}

TEST(PlacementTest, NoServerIsLeftAboveItsThreshold) {
  PlacementInput in = SixServers();
  for (int i = 0; i < 40; ++i) AddShard(in, {i % 2 == 0 ? 0u : 1u}, 0.1);
  Solved solved(in);
  EXPECT_THAT(ListViolations(solved.search.mutable_state()), IsEmpty());
}

TEST(PlacementTest, WhatIsTooMuchForAllServersIsSaidToBe) {
  PlacementInput in = SixServers();
  for (int i = 0; i < 70; ++i) AddShard(in, {static_cast<uint32_t>(i) % 6}, 0.1);
  Solved solved(in);
  const auto violations = ListViolations(solved.search.mutable_state());
  ASSERT_FALSE(violations.empty());
  EXPECT_EQ(violations[0].rule, "capacity(server, cpu)");
  EXPECT_EQ(violations[0].level, solver::kConstraintLevel);
  EXPECT_THAT(violations[0].help, HasSubstr("above their limits of cpu: add capacity"));
}

TEST(PlacementTest, AReplicaWithoutAPlaceIsListedWithWhoRefusesIt) {
  PlacementInput in = SixServers();
  AddShard(in, {kNowhere}, 1.5);
  Solved solved(in);
  const auto violations = ListViolations(solved.search.mutable_state());
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].rule, "unplaced");
  EXPECT_EQ(violations[0].help, "6 refuse it for capacity(server, cpu)");
}

// The reasons are those of the search itself: their amounts add up to what it sees.
TEST(PlacementTest, ReasonsAddUpToWhatTheSearchSees) {
  Random random(7);
  PlacementInput in = SixServers();
  in.servers[4].accepts = false;
  for (int i = 0; i < 30; ++i) {
    AddShard(in, {static_cast<uint32_t>(random.Below(6)), static_cast<uint32_t>(random.Below(6))},
             0.3 * random.Fraction());
    in.preferred_region.push_back(static_cast<uint32_t>(random.Below(3)));
  }
  const auto placement = PlacementModel::Make(in);
  ASSERT_TRUE(placement.ok()) << placement.status();
  solver::State state((*placement)->model());
  for (uint32_t r = 0; r < in.replicas(); ++r) {
    for (uint32_t s = 0; s < 6; ++s) {
      solver::Score sum;
      for (const solver::Reason& reason : Explain(state, ObjectId(r), ContainerId(s))) {
        sum[reason.level] += reason.amount;
      }
      const ContainerId from = state.Lift(ObjectId(r));
      const solver::Score seen = state.Arrival(ObjectId(r), ContainerId(s));
      state.Put(ObjectId(r), from, from);
      for (int l = 0; l < solver::kLevels; ++l) ASSERT_NEAR(sum[l], seen[l], 1e-9) << "level " << l;
    }
  }
}

TEST(PlacementTest, WrongInputIsRefusedByItsField) {
  const auto refused = [](const std::function<void(PlacementInput&)>& spoil) {
    PlacementInput in = SixServers();
    AddShard(in, {0}, 0.1);
    spoil(in);
    return std::string(PlacementModel::Make(in).status().message());
  };
  EXPECT_THAT(refused([](auto& in) { in.load[0] = std::nan(""); }),
              HasSubstr("load[0][0]: found nan; allowed: 0 to 1e15"));
  EXPECT_THAT(refused([](auto& in) { in.load[0] = -1; }), HasSubstr("load[0][0]: found -1"));
  EXPECT_THAT(refused([](auto& in) { in.load[0] = 1e300; }), HasSubstr("load[0][0]: found 1e+300"));
  EXPECT_THAT(refused([](auto& in) { in.capacity[3] = -2; }),
              HasSubstr("capacity[3][0]: found -2"));
  EXPECT_THAT(refused([](auto& in) { in.server_of[0] = 6; }),
              HasSubstr("server_of: found 6; allowed: below 6"));
  EXPECT_THAT(refused([](auto& in) { in.metrics.push_back(in.metrics[0]); }),
              HasSubstr("metrics[1].name: found cpu"));
  EXPECT_THAT(refused([](auto& in) { in.metrics[0].threshold = 2; }),
              HasSubstr("metrics[0].threshold: found 2; allowed: 0 to 1"));
  EXPECT_THAT(refused([](auto& in) { in.metrics[0].tolerance = -1; }),
              HasSubstr("metrics[0].tolerance: found -1; allowed: 0 to 1e6"));
  EXPECT_THAT(refused([](auto& in) { in.metrics[0].weight = 0; }),
              HasSubstr("metrics[0].weight: found 0; allowed: above 0, up to 1e6"));
  EXPECT_THAT(refused([](auto& in) { in.shard_begin = {0, 7}; }), HasSubstr("shard_begin"));
  EXPECT_THAT(refused([](auto& in) {
                in.preferred_region = {1, 2, 3};
              }),
              HasSubstr("preferred_region: found 3 entries; allowed: 1 entries"));
  EXPECT_THAT(refused([](auto& in) {
                in.left = {{1, 0}};
              }),
              HasSubstr("left: found shard 1; allowed: below 1"));
  EXPECT_THAT(refused([](auto& in) {
                in.avoided = {{0, 6}};
              }),
              HasSubstr("avoided: found server 6; allowed: below 6"));
}

TEST(PlacementTest, UnlimitedCapacityIsSharedEvenly) {
  PlacementInput in = SixServers();
  in.metrics[0].even = true;
  in.metrics[0].tolerance = 0;
  in.capacity.assign(6, std::numeric_limits<double>::infinity());
  for (int i = 0; i < 16; ++i) AddShard(in, {0}, 1);
  Solved solved(in);
  std::vector<int> counts(6);
  for (uint32_t r = 0; r < 16; ++r) ++counts[solved.where(r)];
  for (int count : counts) {
    EXPECT_GE(count, 2);
    EXPECT_LE(count, 3);
  }
}

TEST(PlacementTest, AnEmptyFleetAndNoShardsAreNoProblem) {
  PlacementInput none;
  none.metrics = {{.name = "cpu"}};
  Solved nothing(none);
  EXPECT_EQ(nothing.search.state().moved(), 0u);
  AddShard(none, {kNowhere}, 1);
  Solved nowhere(none);
  const auto violations = ListViolations(nowhere.search.mutable_state());
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].help, "there is no server");
}

}  // namespace
}  // namespace shardmanager::allocator
