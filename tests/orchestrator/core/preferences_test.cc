// Shards go where operators want them, without a new spec.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "orchestrator/describe/status.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::ElementsAre;

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

}  // namespace
}  // namespace shardmanager::orchestrator
