#include "allocator/solver/specs/parallel_failover.h"

#include <gtest/gtest.h>

#include "allocator/placement/placement.h"
#include "allocator/solver/specs/all.h"
#include "base/random.h"
#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

// Three groups of two, all on servers 0 and 1; two servers stand empty.
Problem Paired() {
  SmallFleet fleet;
  for (int s = 0; s < 4; ++s) fleet.Server(100);
  for (int g = 0; g < 3; ++g) fleet.Group({{{1}, 0}, {{1}, 1}});
  return fleet.Make();
}

TEST(ParallelFailoverTest, CountsWhatTwoServersShareAboveTheLimit) {
  const Problem p = Paired();
  for (uint32_t most = 1; most <= 4; ++most) {
    Model model(p);
    ASSERT_TRUE(model.AddGoal(ParallelFailoverSpec{.most_shared = most}, {.priority = 7}).ok());
    EXPECT_EQ(CostOf(model)[GoalLevel(7)], most < 3 ? 3 - most : 0);
  }
}

TEST(ParallelFailoverTest, CountsObjectsThatStandTogetherOnce) {
  // Two of a group on server 0, one on server 1: they share it twice.
  const Problem p = SmallFleet().Server(9).Server(9).Group({{{1}, 0}, {{1}, 0}, {{1}, 1}}).Make();
  Model model(p);
  ASSERT_TRUE(model.AddGoal(ParallelFailoverSpec{}, {}).ok());
  State state(model);
  EXPECT_EQ(state.Total()[GoalLevel(1)], 1);
  state.Lift(ObjectId(2));
  EXPECT_EQ(state.Arrival(ObjectId(2), ContainerId(1))[GoalLevel(1)], 1);
}

TEST(ParallelFailoverTest, ChargesForAMoveExactlyWhatItChanges) {
  const Problem p = RandomFleet(1, 6, 90, 0.5);
  Model model(p);
  ASSERT_TRUE(model.AddGoal(ParallelFailoverSpec{.most_shared = 2}, {.weight = 3}).ok());
  State state(model);
  Random random(1);
  for (int i = 0; i < 2'000; ++i) {
    const ObjectId o(random.Below(p.objects));
    const ContainerId to(random.Below(p.containers));
    const double before = state.Total()[GoalLevel(1)];
    const ContainerId from = state.Lift(o);
    const double change = (state.Arrival(o, to) - state.Arrival(o, from))[GoalLevel(1)];
    state.Put(o, to, from);
    ASSERT_DOUBLE_EQ(state.Total()[GoalLevel(1)] - before, change) << i;
  }
}

TEST(ParallelFailoverTest, SearchSpreadsWhatFailsOverTogether) {
  const Problem p = Paired();
  Model model(p);
  ASSERT_TRUE(model.AddGoal(ParallelFailoverSpec{}, {.priority = 7}).ok());
  Search search(model, {});
  search.Descend();
  EXPECT_EQ(search.BestScore()[GoalLevel(7)], 0);
  EXPECT_EQ(search.state().moved(), 2u);
}

TEST(ParallelFailoverTest, RefusesALimitOfNone) {
  const Problem p = Paired();
  Model model(p);
  EXPECT_EQ(model.AddGoal(ParallelFailoverSpec{.most_shared = 0}, {}).code(),
            absl::StatusCode::kInvalidArgument);
}

// Ten servers; the replicas of 30 shards all on the same three.
TEST(ParallelFailoverTest, PlacementHasItAsItsLastGoalIfAsked) {
  allocator::PlacementInput in;
  in.metrics = {{.name = "cpu", .tolerance = 1e6}};
  for (uint32_t s = 0; s < 10; ++s) in.servers.push_back({.rack = s});
  in.capacity.assign(10, 1.0);
  for (uint32_t s = 0; s < 30; ++s) {
    for (uint32_t r = 0; r < 3; ++r) in.server_of.push_back(r);
    in.shard_begin.push_back(in.replicas());
  }
  in.load.assign(in.replicas(), 0.01);
  const auto cost = [&](uint32_t most) {
    in.most_shared_by_two_servers = most;
    const auto placement = allocator::PlacementModel::Make(in);
    Search search((*placement)->model(), {});
    const double before = search.BestScore()[GoalLevel(7)];
    search.Descend();
    return std::pair(before, search.BestScore()[GoalLevel(7)]);
  };
  EXPECT_EQ(cost(UINT32_MAX), std::pair(0.0, 0.0));
  // 90 pairs over the 45 pairs of servers.
  const auto [before, after] = cost(4);
  EXPECT_EQ(before, 3 * 26);
  EXPECT_EQ(after, 0);
}

}  // namespace
}  // namespace shardmanager::solver
