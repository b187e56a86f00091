// A partition whose shards are split and merged.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "model/spec/spec_validation.h"
#include "orchestrator/decide/keys/reshape_orders.h"
#include "orchestrator/describe/status.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {

inline v1::AppSpec RangedSpec(int shards, v1::ReplicationStrategy strategy = v1::PRIMARY_ONLY) {
  v1::AppSpec spec;
  spec.set_name("kv");
  for (int i = 1; i < shards; ++i) {
    spec.mutable_key_space()->add_split_points(std::string(1, static_cast<char>('a' + i)));
  }
  spec.mutable_key_space()->set_shard_prefix("s-");
  spec.mutable_replication()->set_strategy(strategy);
  if (strategy != v1::PRIMARY_ONLY) spec.mutable_replication()->set_replicas(2);
  spec.mutable_failover()->set_delay_ms(1'000);
  return WithDefaults(spec);
}

class ReplacementsTest : public ::testing::Test {
 protected:
  explicit ReplacementsTest(v1::AppSpec initial = RangedSpec(4))
      : spec(std::move(initial)), world(spec) {
    world.Start();
    for (const char* server : {"kv-0", "kv-1"}) world.Join(server);
    world.Advance(Seconds(10));
  }

  // As the leader stores it.
  void Order(const std::vector<std::string>& from, const std::vector<std::string>& cuts,
             const std::vector<std::string>& into = {}) {
    v1::ReshapeShardsRequest request;
    for (const std::string& shard : from) request.add_from(shard);
    for (const std::string& cut : cuts) request.add_cuts(cut);
    for (const std::string& name : into) request.add_into(name);
    v1::StoredSpec stored;
    *stored.mutable_spec() = spec;
    stored.mutable_reshapes()->Assign(world.ordered.reshapes.begin(), world.ordered.reshapes.end());
    const auto reshape = PlanReshape(world_state(), stored, request);
    if (!reshape.ok()) {
      refusal_ = reshape.status().ToString();
      return;
    }
    refusal_.clear();
    ASSERT_TRUE(PutReshape(world_state(), *reshape, stored).ok());
    spec = stored.spec();
    world.ordered.reshapes.assign(stored.reshapes().begin(), stored.reshapes().end());
    world.Apply(spec);
  }

  std::vector<std::string> InMap() const {
    std::vector<std::string> shards;
    for (const LayoutShard& shard : world_state().layout) shards.push_back(shard.id.value());
    return shards;
  }
  const PartitionState& world_state() const {
    return const_cast<World&>(world).partition().state();
  }
  std::string WaitOf(const std::string& shard) const {
    for (const v1::ShardStatus& status : DescribeShards(world_state(), shard)) {
      return status.reshape().waits_for();
    }
    return "it is not in the map";
  }

  v1::AppSpec spec;
  World world;
  std::string refusal_;  // of the last order; empty: none
};

}  // namespace shardmanager::orchestrator
