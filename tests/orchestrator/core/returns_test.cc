// Balance moves no shard back to a server that the shard has left for balance within the hour
// (decision 0033). Everything else may.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "allocator/explain.h"
#include "base/defect.h"
#include "orchestrator/decide/snapshot.h"
#include "tests/orchestrator/history.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Six shards are on kv-0, and three of them go to kv-1, which joins later. Then the spec names only
// these three: all are on kv-1, and kv-0 has none.
class ReturnsTest : public ::testing::Test {
 protected:
  ReturnsTest() : world(TestSpec(6)), spec(TestSpec(0)) {
    world.Start();
    world.Join("kv-0", "r0");
    world.Advance(Seconds(60));
    world.Join("kv-1", "r1");
    world.Advance(Seconds(60));
    EXPECT_EQ(world.Counts().at("kv-1"), 3u);
    for (const auto& [shard, held] : world.servers["kv-1"].held) {
      spec.mutable_key_space()->add_shards()->set_id(shard);
      moved.push_back(shard);
    }
    spec = WithDefaults(spec);
    world.Apply(spec);
  }
  ~ReturnsTest() override { planted_defect = Defect::kNone; }
  size_t HeldBy(const std::string& server) { return world.Counts().at(server); }
  std::string WhyNotOn(const std::string& server) {
    const PartitionState& state = world.partition().state();
    const ShardIndex shard = state.tables.FindShard(moved.front());
    const allocator::Explanation why = allocator::Explain(
        ExplainSnapshot(state, shard), {.only = state.tables.FindServer(server)});
    return why.candidates.at(0).reason;
  }

  World world;
  v1::AppSpec spec;
  std::vector<std::string> moved;  // to kv-1
};

TEST_F(ReturnsTest, BalanceLeavesAShardForAnHourWhereItMovedIt) {
  world.Advance(Seconds(3'400));
  EXPECT_EQ(HeldBy("kv-0"), 0u);
  EXPECT_EQ(WhyNotOn("kv-0"), "a replica of the shard left it for balance within the last hour");
  world.Advance(Seconds(300));
  EXPECT_EQ(HeldBy("kv-0"), 1u);  // without any other change
  EXPECT_THAT(WhyNotOn("kv-0"), testing::Not(HasSubstr("within the last hour")));
}

TEST_F(ReturnsTest, OthersGoThereInstead) {
  v1::AppSpec more = spec;
  for (const char* fresh : {"t-0", "t-1", "t-2", "t-3"}) {
    more.mutable_key_space()->add_shards()->set_id(fresh);
  }
  world.Die("kv-0");
  world.Apply(more);
  world.Advance(Seconds(60));
  ASSERT_EQ(HeldBy("kv-1"), 7u);
  world.Join("kv-0", "r0");
  world.Advance(Seconds(60));
  EXPECT_EQ(HeldBy("kv-0"), 3u);
  for (const std::string& shard : moved) EXPECT_THAT(world.Holders(shard), ElementsAre("kv-1"));
}

TEST_F(ReturnsTest, AFailoverGoesBack) {
  world.Die("kv-1");
  world.Advance(Seconds(60));
  EXPECT_EQ(HeldBy("kv-0"), 3u);
}

TEST_F(ReturnsTest, ADrainGoesBack) {
  v1::Drain& drain = world.ordered.drains.emplace_back();
  drain.mutable_scope()->set_server("kv-1");
  world.Apply(spec);
  world.Advance(Seconds(60));
  EXPECT_EQ(HeldBy("kv-0"), 3u);
}

// What a drain has moved is not for balance: it goes back when the drain is over.
TEST_F(ReturnsTest, WhatADrainMovedGoesBackAtOnce) {
  world.ordered.drains.emplace_back().mutable_scope()->set_server("kv-1");
  world.Apply(spec);
  world.Advance(Seconds(60));
  world.ordered.drains.clear();
  world.Apply(spec);
  world.Advance(Seconds(60));
  EXPECT_EQ(HeldBy("kv-1"), 1u);
}

TEST_F(ReturnsTest, APreferredRegionCallsBack) {
  auto& entry = *world.ordered.preferences.add_regions();
  entry.set_region("r0");
  for (const std::string& shard : moved) entry.add_shards(shard);
  world.Apply(spec);
  world.Advance(Seconds(60));
  EXPECT_EQ(HeldBy("kv-0"), 3u);
}

TEST_F(ReturnsTest, ANewLeaderBeginsWithoutThem) {
  world.Restart();
  world.Advance(Seconds(60));
  EXPECT_EQ(HeldBy("kv-0"), 1u);
}

TEST_F(ReturnsTest, WithoutTheRuleItBounces) {
  planted_defect = Defect::kBouncesBack;
  world.Advance(Seconds(60));
  EXPECT_EQ(HeldBy("kv-0"), 1u);
  EXPECT_THAT(world.watcher.returns.found(), SizeIs(1));
}

// Loads swing to and fro within the hour, between servers that are like each other.
TEST(ReturnsOfLoadsTest, SwingingLoadsDoNotBringShardsBack) {
  for (const Defect planted : {Defect::kNone, Defect::kBouncesBack}) {
    planted_defect = planted;
    v1::AppSpec spec = TestSpec(40);
    spec.add_metrics()->set_name("cpu");
    World world(WithDefaults(spec));
    world.check_every_step = false;
    int hot = 0;
    world.load = [&](const std::string& shard, const std::string&) {
      return std::vector<MetricAmount>{{"cpu", std::stoi(shard.substr(2)) % 4 == hot ? 10.0 : 1.0}};
    };
    world.Start();
    for (int i = 0; i < 4; ++i) world.Join(absl::StrCat("kv-", i));
    for (int i = 0; i < 12; ++i) {
      hot = i % 4;
      world.Advance(Seconds(600));
    }
    EXPECT_EQ(world.watcher.returns.found().empty(), planted == Defect::kNone);
  }
  planted_defect = Defect::kNone;
}

// The World looks for returns in each history (partition_test.cc): this is why it would find them.
TEST(ReturnsOfLoadsTest, HistoriesFindAPartitionThatBounces) {
  planted_defect = Defect::kBouncesBack;
  size_t found = 0;
  for (uint64_t seed = 1; seed <= 1'000 && found == 0; ++seed) {
    const std::string bytes = History::Draw(seed);
    fuzz::FuzzInput input(bytes);
    History history(input);
    while (!input.empty()) {
      history.Step();
      found += history.world().watcher.returns.found().size();
    }
    history.Settle();
    found += history.world().watcher.returns.found().size();
    if (found > 0) std::printf("found by seed %d\n", static_cast<int>(seed));
  }
  planted_defect = Defect::kNone;
  EXPECT_GT(found, 0u);
}

}  // namespace
}  // namespace shardmanager::orchestrator
