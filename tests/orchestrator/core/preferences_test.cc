// Shards go where operators want them, without a new spec.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "orchestrator/describe/status.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two servers in r0, two in r1; twelve shards.
class PreferenceTest : public ::testing::Test {
 protected:
  explicit PreferenceTest(v1::AppSpec with = TestSpec(12)) : spec(std::move(with)), world(spec) {
    world.Start();
    world.Join("kv-0", "r0");
    world.Join("kv-1", "r0");
    world.Join("kv-2", "r1");
    world.Join("kv-3", "r1");
    world.Advance(Seconds(30));
    world.notes.clear();
    world.commands.clear();
  }
  void Prefer(const std::string& region, const std::vector<std::string>& shards) {
    auto& entry = *world.ordered.preferences.add_regions();
    entry.set_region(region);
    for (const std::string& shard : shards) entry.add_shards(shard);
    world.ordered.preferences.set_who("jo");
    world.Apply(spec);
  }
  void TakeBack() {
    world.ordered.preferences.Clear();
    world.Apply(spec);
  }
  std::vector<std::string> HeldIn(const std::string& region) const {
    std::vector<std::string> shards;
    for (const auto& [name, server] : world.servers) {
      if (server.at.region != region || !server.live) continue;
      for (const auto& [shard, held] : server.held) shards.push_back(shard);
    }
    return shards;
  }
  v1::PreferredRegion Region() {
    const v1::AppStatus status = DescribeApp(world.partition().state(), world.now);
    EXPECT_EQ(status.preferred_regions_size(), 1);
    return status.preferred_regions().empty() ? v1::PreferredRegion() : status.preferred_regions(0);
  }
  v1::ShardStatus Status(const std::string& shard) {
    return DescribeShards(world.partition().state(), shard).at(0);
  }

  const v1::AppSpec spec;
  World world;
};

TEST_F(PreferenceTest, ShardsGoToTheRegionThatIsOrdered) {
  const std::vector<std::string> before = HeldIn("r0");
  ASSERT_EQ(before.size(), 6u);
  Prefer("r1", before);
  world.Advance(Seconds(60));
  EXPECT_EQ(Region().shards(), 6u);
  EXPECT_EQ(Region().ordered(), 6u);
  EXPECT_EQ(Region().met(), 6u);
  EXPECT_EQ(Region().servers_live(), 2u);
  for (const std::string& shard : before) {
    EXPECT_THAT(world.Holders(shard), ElementsAre(::testing::AnyOf("kv-2", "kv-3")));
    EXPECT_EQ(Status(shard).preferred_region(), "r1");
    EXPECT_TRUE(Status(shard).preference_ordered());
    EXPECT_TRUE(Status(shard).preference_met());
  }
  EXPECT_EQ(world.Served(), 12u);
  EXPECT_EQ(world.NoteCount(NoteKind::kRegionsPreferred), 1u);
}

TEST_F(PreferenceTest, WhatIsThereAlreadyStays) {
  Prefer("r1", HeldIn("r1"));
  world.Advance(Seconds(60));
  EXPECT_EQ(world.NoteCount(NoteKind::kMoveStarted), 0u);
}

TEST_F(PreferenceTest, ARepeatChangesNothing) {
  Prefer("r1", HeldIn("r0"));
  world.Advance(Seconds(60));
  world.notes.clear();
  world.Apply(spec);
  world.Advance(Seconds(60));
  EXPECT_TRUE(world.notes.empty());
}

TEST_F(PreferenceTest, TakenBackItIsBalancedAgain) {
  Prefer("r1", HeldIn("r0"));
  world.Advance(Seconds(60));
  TakeBack();
  world.Advance(Seconds(60));
  EXPECT_EQ(HeldIn("r0").size(), 6u);
  EXPECT_EQ(world.NoteCount(NoteKind::kRegionsPreferred), 2u);
}

TEST_F(PreferenceTest, ARegionWithoutServersIsAwaited) {
  const std::vector<std::string> shards = HeldIn("r0");
  Prefer("r9", shards);
  world.Advance(Seconds(60));
  EXPECT_EQ(HeldIn("r0"), shards) << "nothing moves for it";
  EXPECT_EQ(Region().servers_live(), 0u);
  EXPECT_EQ(Region().met(), 0u);
  world.Join("kv-9", "r9");
  world.Advance(Seconds(60));
  EXPECT_EQ(Region().met(), 6u);
  EXPECT_THAT(HeldIn("r9"), ::testing::IsSupersetOf(shards));
}

TEST_F(PreferenceTest, ANewLeaderKnowsThemFromItsFirstDecisionOn) {
  Prefer("r1", HeldIn("r0"));
  world.Advance(Seconds(60));
  world.notes.clear();
  world.Restart();
  world.Advance(Seconds(60));
  EXPECT_EQ(world.NoteCount(NoteKind::kMoveStarted), 0u);
  EXPECT_EQ(Region().met(), 6u);
}

TEST_F(PreferenceTest, ANewSpecLeavesThemAsTheyAre) {
  Prefer("r1", HeldIn("r0"));
  world.Advance(Seconds(60));
  v1::AppSpec other = spec;
  other.mutable_placement()->set_preferred_region("r0");
  world.Apply(other);
  world.Advance(Seconds(120));
  EXPECT_EQ(HeldIn("r1").size(), 6u);
  EXPECT_EQ(HeldIn("r0").size(), 6u) << "the others prefer what the spec says";
}

class PrimaryPreferenceTest : public PreferenceTest {
 protected:
  PrimaryPreferenceTest() : PreferenceTest(TestSpec(6, v1::PRIMARY_SECONDARY, 2)) {}
};

TEST_F(PrimaryPreferenceTest, ThePrimaryFollowsItsRegion) {
  std::vector<std::string> shards;
  for (int i = 0; i < 6; ++i) shards.push_back("s-" + std::to_string(i));
  Prefer("r1", shards);
  world.Advance(Seconds(180));
  for (const std::string& shard : shards) {
    const std::vector<std::string> roles = world.Roles(shard);
    EXPECT_THAT(roles, ::testing::Contains(::testing::AnyOf("kv-2*", "kv-3*"))) << shard;
  }
  EXPECT_EQ(world.Served(), 6u);
}

// ---- placement.region_replicas ----

// Four servers in each of three regions.
class RegionReplicasTest : public ::testing::Test {
 protected:
  static v1::AppSpec SpecWith(const std::vector<std::pair<std::string, uint32_t>>& wanted,
                              uint32_t replicas = 4) {
    v1::AppSpec spec = TestSpec(30, v1::SECONDARY_ONLY, replicas);
    for (const auto& [region, count] : wanted) {
      v1::RegionReplicas& added = *spec.mutable_placement()->add_region_replicas();
      added.set_region(region);
      added.set_replicas(count);
    }
    return spec;
  }
  void Start(const v1::AppSpec& spec) {
    world_.emplace(spec);
    world_->Start();
    for (int i = 0; i < 12; ++i) {
      world_->Join(absl::StrCat("kv-", i), absl::StrCat("r", i / 4));
    }
    world_->Advance(Seconds(120));
  }
  // How many shards have how many replicas in the region.
  std::map<size_t, size_t> In(const std::string& region) const {
    std::map<std::string, size_t> there;
    for (int i = 0; i < 30; ++i) there[absl::StrCat("s-", i)] = 0;
    for (const auto& [name, server] : world_->servers) {
      if (server.at.region != region || !server.live) continue;
      for (const auto& [shard, held] : server.held) ++there[shard];
    }
    std::map<size_t, size_t> counts;
    for (const auto& [shard, count] : there) ++counts[count];
    return counts;
  }
  std::vector<std::string> Conditions() {
    const v1::AppStatus status = DescribeApp(world_->partition().state(), world_->now);
    return {status.conditions().begin(), status.conditions().end()};
  }
  using Counts = std::map<size_t, size_t>;

  std::optional<World> world_;
};

TEST_F(RegionReplicasTest, EachRegionHasAsManyAsTheSpecSays) {
  Start(SpecWith({{"r0", 2}, {"r1", 1}, {"r2", 1}}));
  EXPECT_EQ(In("r0"), (Counts{{2, 30}}));
  EXPECT_EQ(In("r1"), (Counts{{1, 30}}));
  EXPECT_EQ(In("r2"), (Counts{{1, 30}}));
  EXPECT_THAT(Conditions(), IsEmpty());
}

TEST_F(RegionReplicasTest, TheOthersStandAnywhere) {
  Start(SpecWith({{"r1", 1}}, 2));
  EXPECT_EQ(In("r1").count(0), 0u) << "one of each is there";
  EXPECT_GT(In("r0")[1] + In("r2")[1], 15u);
}

TEST_F(RegionReplicasTest, ANewSpecMovesNoMoreThanItMust) {
  Start(SpecWith({{"r0", 2}, {"r1", 1}, {"r2", 1}}));
  world_->commands.clear();
  world_->Apply(SpecWith({{"r0", 1}, {"r1", 2}, {"r2", 1}}));
  world_->Advance(Seconds(300));
  EXPECT_EQ(In("r0"), (Counts{{1, 30}}));
  EXPECT_EQ(In("r1"), (Counts{{2, 30}}));
  EXPECT_EQ(In("r2"), (Counts{{1, 30}}));
  EXPECT_LE(world_->commands.size(), 30u * 2 + 20) << "an add and a drop of each shard";
}

TEST_F(RegionReplicasTest, TheOnlyReplicaGoesThereThoughAllServersHaveAsMany) {
  Start(TestSpec(12, v1::SECONDARY_ONLY, 1));
  EXPECT_EQ(world_->Counts(), (std::map<std::string, size_t>{{"kv-0", 1},
                                                             {"kv-1", 1},
                                                             {"kv-2", 1},
                                                             {"kv-3", 1},
                                                             {"kv-4", 1},
                                                             {"kv-5", 1},
                                                             {"kv-6", 1},
                                                             {"kv-7", 1},
                                                             {"kv-8", 1},
                                                             {"kv-9", 1},
                                                             {"kv-10", 1},
                                                             {"kv-11", 1}}));
  v1::AppSpec spec = TestSpec(12, v1::SECONDARY_ONLY, 1);
  v1::RegionReplicas& wanted = *spec.mutable_placement()->add_region_replicas();
  wanted.set_region("r1");
  wanted.set_replicas(1);
  world_->Apply(spec);
  world_->Advance(Seconds(300));
  EXPECT_EQ(world_->Counts().at("kv-4"), 3u);
  EXPECT_THAT(Conditions(), IsEmpty());
}

TEST_F(RegionReplicasTest, ALostRegionsReplicasComeBackWithIt) {
  Start(SpecWith({{"r0", 2}, {"r1", 1}, {"r2", 1}}));
  for (int i = 8; i < 12; ++i) world_->Die(absl::StrCat("kv-", i));
  world_->Advance(Seconds(60));
  EXPECT_EQ(world_->Served(), 30u) << "they stand elsewhere meanwhile";
  EXPECT_THAT(Conditions(), ElementsAre("30 shards have fewer than 1 replica in r2 "
                                        "(placement.region_replicas)"));
  for (int i = 8; i < 12; ++i) world_->Join(absl::StrCat("kv-", i), "r2");
  world_->Advance(Seconds(300));
  EXPECT_EQ(In("r0"), (Counts{{2, 30}}));
  EXPECT_EQ(In("r2"), (Counts{{1, 30}}));
  EXPECT_THAT(Conditions(), IsEmpty());
}

TEST_F(RegionReplicasTest, ARegionWithoutServersIsWaitedForAndSaid) {
  Start(SpecWith({{"r0", 1}, {"mars", 1}}, 2));
  EXPECT_EQ(world_->Served(), 30u);
  EXPECT_EQ(In("r0").count(0), 0u);
  EXPECT_THAT(Conditions(), ElementsAre("30 shards have fewer than 1 replica in mars "
                                        "(placement.region_replicas)"));
}

// ---- weights ----

// Eight shards; kv-1, in r1, has room for three.
class PreferenceWeightsTest : public testing::Test {
 protected:
  PreferenceWeightsTest() : world(TestSpec(8)) {
    world.Start();
    world.Join("kv-0", "r0");
    world.Join("kv-1", "r1", /*capacity=*/3);
    world.Advance(Seconds(60));
  }
  // All in r1; those that are named weigh more.
  void Prefer(uint32_t weight, const std::vector<std::string>& heavy) {
    v1::StoredPreferences& preferences = world.ordered.preferences;
    preferences.Clear();
    auto& light = *preferences.add_regions();
    light.set_region("r1");
    for (int i = 0; i < 8; ++i) {
      const std::string shard = absl::StrCat("s-", i);
      if (std::count(heavy.begin(), heavy.end(), shard) == 0) light.add_shards(shard);
    }
    auto& others = *preferences.add_regions();
    others.set_region("r1");
    others.set_weight(weight);
    for (const std::string& shard : heavy) others.add_shards(shard);
    world.notes.clear();
    world.Apply(TestSpec(8));
    world.Advance(Seconds(120));
  }
  std::vector<std::string> InR1() {
    std::vector<std::string> shards;
    for (const auto& [shard, held] : world.servers["kv-1"].held) shards.push_back(shard);
    return shards;
  }
  World world;
};

TEST_F(PreferenceWeightsTest, TheHeavyOnesAreThereWhereThereIsNotRoomForAll) {
  Prefer(10, {"s-1", "s-4", "s-6"});
  EXPECT_THAT(InR1(), ElementsAre("s-1", "s-4", "s-6"));
  const v1::AppStatus app = DescribeApp(world.partition().state(), world.now);
  ASSERT_EQ(app.preferred_regions_size(), 1);
  EXPECT_EQ(app.preferred_regions(0).shards(), 8u);
  EXPECT_EQ(app.preferred_regions(0).met(), 3u);
  EXPECT_EQ(app.preferred_regions(0).heaviest(), 10u);
  EXPECT_EQ(app.preferred_regions(0).heaviest_missing(), 1u);
  EXPECT_EQ(DescribeShards(world.partition().state(), "s-4").at(0).preference_weight(), 10u);
  EXPECT_EQ(DescribeShards(world.partition().state(), "s-5").at(0).preference_weight(), 1u);

  Prefer(100, {"s-0", "s-1", "s-7"});  // others matter now
  EXPECT_THAT(InR1(), ElementsAre("s-0", "s-1", "s-7"));
  EXPECT_EQ(world.NoteCount(NoteKind::kRegionsPreferred), 1u);
  world.notes.clear();
  world.Advance(Seconds(600));
  EXPECT_EQ(world.NoteCount(NoteKind::kMoveStarted), 0u) << "it comes to rest";
}

TEST_F(PreferenceWeightsTest, TheHeavyOnesGoFirst) {
  world.Die("kv-1");
  world.Join("kv-1", "r1");  // with room for all
  Prefer(5, {"s-3", "s-7"});
  EXPECT_EQ(InR1().size(), 8u);
  std::vector<std::string> order;
  for (const Note& note : world.notes) {
    if (note.kind == NoteKind::kMoveStarted) order.push_back(world.Name(note.shard));
  }
  ASSERT_GE(order.size(), 2u);
  for (const char* heavy : {"s-3", "s-7"}) {
    const auto at = std::find(order.begin(), order.end(), heavy) - order.begin();
    EXPECT_TRUE(at < 2 || at == static_cast<ptrdiff_t>(order.size())) << heavy;
  }
}

// ---- placement.spread_limits ----

class SpreadLimitTest : public RegionReplicasTest {
 protected:
  static v1::AppSpec Limited(bool soft) {
    v1::AppSpec spec = SpecWith({}, 4);
    v1::SpreadLimit& limit = *spec.mutable_placement()->add_spread_limits();
    limit.set_level(v1::REGION);
    limit.set_replicas(2);
    limit.set_soft(soft);
    return spec;
  }
};

TEST_F(SpreadLimitTest, AHardOneIsKeptWhileRegionsAreLost) {
  Start(Limited(false));
  for (int i = 4; i < 12; ++i) world_->Die(absl::StrCat("kv-", i));
  world_->Advance(Seconds(60));
  EXPECT_EQ(In("r0"), (Counts{{2, 30}}));
  EXPECT_EQ(DescribeShards(world_->partition().state(), "s-0").at(0).reason(),
            "no fault domain is left that may hold one more replica of the shard");
  EXPECT_THAT(Conditions(), ElementsAre("60 of 120 replicas not serving"));
}

TEST_F(SpreadLimitTest, ASoftOneIsBrokenWhenNothingElseIsLeftAndMendedLater) {
  Start(Limited(true));
  for (int i = 4; i < 12; ++i) world_->Die(absl::StrCat("kv-", i));
  world_->Advance(Seconds(60));
  EXPECT_EQ(In("r0"), (Counts{{4, 30}}));
  EXPECT_THAT(Conditions(),
              ElementsAre("30 shards have more than 2 replicas in one region "
                          "(placement.spread_limits, soft: broken where no other place is left)"));
  for (int i = 4; i < 12; ++i) world_->Join(absl::StrCat("kv-", i), absl::StrCat("r", i / 4));
  world_->Advance(Seconds(300));
  EXPECT_THAT(Conditions(), IsEmpty());
}

TEST_F(SpreadLimitTest, ANewLimitMovesWhatIsAboveIt) {
  v1::AppSpec together = SpecWith({{"r1", 3}}, 3);
  Start(together);
  world_->Advance(Seconds(300));
  ASSERT_EQ(In("r1"), (Counts{{3, 30}}));
  world_->hold_adds = true;
  world_->Apply(Limited(false));
  world_->Advance(Milliseconds(1));
  EXPECT_THAT(Conditions(), Contains("30 shards have more than 2 replicas in one region "
                                     "(placement.spread_limits)"));
  world_->hold_adds = false;
  world_->FinishAdds();
  world_->Advance(Seconds(300));
  EXPECT_THAT(Conditions(), IsEmpty());
}

}  // namespace
}  // namespace shardmanager::orchestrator
