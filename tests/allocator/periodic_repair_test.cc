// Periodic plans in fleets that are so full that single moves do not help.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/allocator/fleets.h"

namespace shardmanager::allocator {
namespace {

// Servers of eight replicas in two metrics, with a twentieth to spare. Four pairs of replicas have
// traded places since all had room, and one of each pair has no place any more.
Snapshot TightFleet(uint64_t seed, uint32_t servers = 12) {
  const uint32_t shards = servers * 8;
  Random random(seed);
  Snapshot snapshot = Fleet(servers, 1);
  AddShards(snapshot, shards);
  snapshot.metrics = {{.name = "cpu"}, {.name = "memory"}};
  snapshot.other_load.assign(size_t{servers} * 2, 0);
  snapshot.capacity.assign(size_t{servers} * 2, 0);
  std::vector<std::array<float, 2>> load(shards);
  for (uint32_t s = 0; s < shards; ++s) {
    snapshot.shards[s].replicas.push_back({ServerIndex(s % servers), Role::kPrimary});
    for (uint32_t m = 0; m < 2; ++m) {
      load[s][m] = static_cast<float>(1 + 9 * random.Fraction());
      snapshot.capacity[s % servers * 2 + m] += load[s][m] * 1.05;
    }
  }
  for (int pair = 0; pair < 4; ++pair) {
    auto& a = snapshot.shards[random.Below(shards)].replicas;
    std::swap(a, snapshot.shards[random.Below(shards)].replicas);
    a.clear();
  }
  for (uint32_t s = 0; s < shards; ++s) {
    // A row for each replica, and one for what is missing.
    for (size_t row = 0; row <= snapshot.shards[s].replicas.size(); ++row) {
      snapshot.load.insert(snapshot.load.end(), load[s].begin(), load[s].end());
    }
  }
  return snapshot;
}

// Utilization of the fullest server in any metric, after the plan for the snapshot, which has been
// applied to `after`.
double MostUsed(const Snapshot& before, const Snapshot& after) {
  std::vector<double> used(after.capacity.size(), 0);
  size_t row = 0;
  for (size_t s = 0; s < after.shards.size(); ++s) {
    for (const ReplicaInfo& replica : after.shards[s].replicas) {
      for (size_t m = 0; m < 2; ++m)
        used[replica.server.index() * 2 + m] += after.load[row * 2 + m];
    }
    row += before.shards[s].replicas.size() + 1;
  }
  double most = 0;
  for (size_t i = 0; i < used.size(); ++i) most = std::max(most, used[i] / after.capacity[i]);
  return most;
}

TEST(PeriodicRepairTest, RepairsATightFleetByMovesThatOnlyTogetherHelp) {
  constexpr MoveLimits kLimits{.total = 20, .per_server = 5};
  for (const uint32_t servers : {12U, 100U}) {
    int by_descent = 0;
    int repaired = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      const Snapshot before = TightFleet(seed, servers);
      const auto repairs = [&](uint64_t steps) {
        const Plan plan = Solve(before, {.most_repair_steps = steps, .moves = kLimits});
        std::map<uint32_t, uint32_t> touched;
        uint32_t moves = 0;
        for (const Move& move : plan.moves) {
          if (!move.from.valid()) continue;
          ++moves;
          ++touched[move.from.index()];
          ++touched[move.to.index()];
        }
        EXPECT_LE(moves, kLimits.total) << "seed " << seed;
        for (const auto& [server, n] : touched) EXPECT_LE(n, kLimits.per_server) << "seed " << seed;
        Snapshot after = before;
        Apply(after, plan);
        return plan.skipped.empty() && MostUsed(before, after) <= 1 + 1e-6;
      };
      by_descent += repairs(0);
      repaired += repairs(Options().most_repair_steps);
    }
    EXPECT_LE(by_descent, 36) << "the problems are too easy";
    EXPECT_EQ(repaired, 40) << servers << " servers";
  }
}

// Eight servers have ten times what they may hold, and the ninth one has room for all. To the
// search, one constraint is as good as another: each shard that leaves saves more than a move too
// many costs.
TEST(PeriodicRepairTest, PassesNoLimitOfMovesToMendAnotherLimit) {
  Snapshot snapshot = Fleet(9, 1);
  AddShards(snapshot, 8);
  snapshot.metrics = {{.name = "cpu"}};
  snapshot.capacity = {1, 1, 1, 1, 1, 1, 1, 1, 1'000};
  snapshot.other_load.assign(9, 0);
  for (size_t s = 0; s < 8; ++s) {
    snapshot.shards[s].replicas.push_back({ServerIndex(s), Role::kPrimary});
    snapshot.load.insert(snapshot.load.end(), {10, 10});
  }
  for (const uint32_t total : {1U, 2U, 4U}) {
    EXPECT_EQ(Solve(snapshot, {.moves = {.total = total, .per_server = 8}}).moves.size(), total);
  }
}

TEST(PeriodicRepairTest, WhatCannotBeRepairedTakesNoTime) {
  const auto steps_of_repair = [](const Snapshot& snapshot) {
    return Solve(snapshot, {}).steps - Solve(snapshot, {.most_repair_steps = 0}).steps;
  };
  Snapshot apart = Fleet(8, 2);
  apart.spread = Spread::kRegion;
  AddShards(apart, 40, 3);
  Apply(apart, Solve(apart, {.mode = Mode::kEmergency}));
  EXPECT_LT(steps_of_repair(apart), 1'000u) << "room enough, but no fault domain is left";
  Snapshot empty = Fleet(4, 1);
  AddShards(empty, 100);
  EXPECT_LT(steps_of_repair(empty), 1'000u) << "what has no place yet lacks only moves";
  const Snapshot tight = TightFleet(1);
  const MoveLimits none{.total = 0};
  EXPECT_EQ(Solve(tight, {.moves = none}).steps,
            Solve(tight, {.most_repair_steps = 0, .moves = none}).steps)
      << "nothing may move";
  Snapshot full = Fleet(4, 1);
  for (ServerInfo& server : full.servers) server.capacity = 10;
  AddShards(full, 50);
  Apply(full, Solve(full, {.mode = Mode::kEmergency}));
  EXPECT_EQ(steps_of_repair(full), 0u) << "no room for what is to be placed";
  for (ServerInfo& server : full.servers) server.capacity = 9;
  EXPECT_EQ(steps_of_repair(full), 0u) << "less room than is used";
}

}  // namespace
}  // namespace shardmanager::allocator
