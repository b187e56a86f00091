// A world whose shards have loads that their replicas share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "orchestrator/describe/status.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {

inline v1::AppSpec ScalingSpec(int shards, v1::ReplicationStrategy strategy = v1::SECONDARY_ONLY,
                               uint32_t replicas = 1) {
  v1::AppSpec spec = TestSpec(shards, strategy, replicas);
  spec.add_metrics()->set_name("cpu");
  spec.mutable_moves()->set_collect_interval_ms(5'000);
  spec.mutable_scaling()->set_metric("cpu");
  spec.mutable_scaling()->set_target(50);
  spec.mutable_scaling()->set_max_replicas(6);
  spec.mutable_scaling()->set_max_changes_per_minute("100");
  return WithDefaults(spec);
}

// Eight servers; what each shard carries is shared by its replicas.
class ScalingTest : public ::testing::Test {
 protected:
  void Start(const v1::AppSpec& spec, int servers = 8) {
    world_.emplace(spec);
    world().load = [this](const std::string& shard, const std::string&) {
      const size_t replicas = world().Holders(shard).size();
      return std::vector<MetricAmount>{
          {"cpu", total_[shard] / static_cast<double>(std::max<size_t>(1, replicas))}};
    };
    world().Start();
    for (int i = 0; i < servers; ++i) world().Join(absl::StrCat("kv-", i));
    world().Advance(Seconds(60));
    world().notes.clear();
  }
  // s-0 carries 190: four replicas of it have come.
  void StartWithFour(const v1::AppSpec& spec, int servers = 8) {
    Start(spec, servers);
    Carry("s-0", 190);
    world().Advance(Seconds(60));
    ASSERT_EQ(Replicas("s-0"), 4U);
  }
  void Carry(const std::string& shard, double total) { total_[shard] = total; }
  size_t Replicas(const std::string& shard) { return world().Holders(shard).size(); }
  v1::ShardStatus Status(size_t shard) { return DescribeShard(world().partition().state(), shard); }
  // Of s-0.
  std::string Says() { return Status(0).scaling().message(); }
  std::vector<std::string> Conditions() {
    const v1::AppStatus app = DescribeApp(world().partition().state(), world().now);
    return {app.conditions().begin(), app.conditions().end()};
  }
  std::vector<std::string> Details(NoteKind kind) {
    std::vector<std::string> details;
    for (const Note& note : world().notes) {
      if (note.kind == kind) details.push_back(note.detail);
    }
    return details;
  }
  // Of s-0: which server has it.
  std::string Primary() {
    for (const std::string& role : world().Roles("s-0")) {
      if (role.ends_with('*')) return role;
    }
    return "";
  }
  World& world() { return *world_; }

 private:
  std::map<std::string, double> total_;
  std::optional<World> world_;
};

}  // namespace shardmanager::orchestrator
