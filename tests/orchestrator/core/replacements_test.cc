// Splits and merges (decide/keys/replacements.h): one write, on the servers that have the shards.
#include "orchestrator/decide/keys/replacements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "model/keys/reshape.h"
#include "model/layout.h"
#include "orchestrator/decide/keys/reshape_orders.h"
#include "tests/orchestrator/core/replacements_fixture.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(ReplacementsTest, ASplitIsOneWriteOnTheServerThatHasTheShard) {
  const std::vector<std::string> holder = world.Holders("s-1");
  world.hold_writes = true;
  Order({"s-1"}, {"bb"});
  ASSERT_EQ(world.writes.size(), 1u);
  ASSERT_EQ(world.writes.front().writes.size(), 1u);
  EXPECT_THAT(InMap(), ElementsAre("s-0", "s-1", "s-2", "s-3")) << "until the write is durable";
  EXPECT_EQ(world.Holders("s-1"), holder);
  world.hold_writes = false;
  world.FinishWrite(WriteOutcome::kOk);
  EXPECT_THAT(InMap(), ElementsAre("s-0", "s-1.0", "s-1.1", "s-2", "s-3"));
  EXPECT_EQ(world.Holders("s-1.0"), holder);
  EXPECT_EQ(world.Holders("s-1.1"), holder);
  EXPECT_THAT(world.Holders("s-1"), IsEmpty());
  EXPECT_EQ(world.NoteCount(NoteKind::kShardsReplaced), 1u);
  EXPECT_EQ(world.NoteCount(NoteKind::kMoveStarted), 0u);
}

TEST_F(ReplacementsTest, AWriteThatFailsChangesNothingAndIsTriedAgain) {
  world.hold_writes = true;
  Order({"s-1"}, {"bb"});
  world.FinishWrite(WriteOutcome::kFailed);
  EXPECT_THAT(InMap(), ElementsAre("s-0", "s-1", "s-2", "s-3"));
  EXPECT_FALSE(world_state().tables.shard(world_state().tables.FindShard("s-1.0")).first.valid());
  world.hold_writes = false;
  world.Advance(Seconds(1));
  EXPECT_THAT(InMap(), ElementsAre("s-0", "s-1.0", "s-1.1", "s-2", "s-3"));
}

TEST_F(ReplacementsTest, AMergeBringsTheShardsTogetherFirst) {
  ASSERT_NE(world.Holders("s-0"), world.Holders("s-1")) << "else there is nothing to do";
  const std::vector<std::string> first = world.Holders("s-0");
  world.hold_writes = true;
  Order({"s-1", "s-0"}, {}, {"m"});
  EXPECT_EQ(WaitOf("s-1"), "s-1 is on " + world.Holders("s-1").front() + ", and s-0 is not");
  world.hold_writes = false;
  world.FinishWrite(WriteOutcome::kOk);
  world.Advance(Seconds(30));
  EXPECT_THAT(InMap(), ElementsAre("m", "s-2", "s-3"));
  EXPECT_EQ(world.Holders("m"), first);
}

// The others cannot come to a server that is to be emptied, and it could not be emptied while its
// shard waited for them.
TEST_F(ReplacementsTest, AMergeDoesNotWaitForAServerThatIsToBeEmptied) {
  ASSERT_NE(world.Holders("s-0"), world.Holders("s-1")) << "else there is nothing to do";
  world.Join("kv-2");
  const std::string drained = world.Holders("s-0").front();
  v1::Drain drain;
  drain.mutable_scope()->set_server(drained);
  world.ordered.drains = {drain};  // heard of together with the order
  Order({"s-0", "s-1"}, {}, {"m"});
  world.Advance(Seconds(120));
  EXPECT_THAT(InMap(), ElementsAre("m", "s-2", "s-3"));
  ASSERT_EQ(world.Holders("m").size(), 1u);
  EXPECT_NE(world.Holders("m").front(), drained);
}

TEST_F(ReplacementsTest, ANewLeaderGoesOnFromTheRecords) {
  world.hold_writes = true;
  Order({"s-1"}, {"bb"});
  world.hold_writes = false;
  world.writes.clear();
  world.Restart();  // the write never happened
  world.Advance(Seconds(5));
  EXPECT_THAT(InMap(), ElementsAre("s-0", "s-1.0", "s-1.1", "s-2", "s-3"));
  const std::vector<std::string> holder = world.Holders("s-1.0");
  EXPECT_THAT(holder, testing::SizeIs(1));
  world.Restart();  // it happened
  world.Advance(Seconds(5));
  EXPECT_THAT(InMap(), ElementsAre("s-0", "s-1.0", "s-1.1", "s-2", "s-3"));
  EXPECT_EQ(world.Holders("s-1.0"), holder);
}

TEST_F(ReplacementsTest, ALostShardIsPlacedElsewhereAndThenSplit) {
  const std::string holder = world.Holders("s-1").front();
  world.Die(holder);
  Order({"s-1"}, {"bb"});
  EXPECT_EQ(WaitOf("s-1"), "s-1 is on " + holder + ", which is away");
  world.Advance(Seconds(5));
  const std::string other = holder == "kv-0" ? "kv-1" : "kv-0";
  EXPECT_THAT(world.Holders("s-1.0"), ElementsAre(other));
  EXPECT_THAT(world.Holders("s-1.1"), ElementsAre(other));
}

TEST_F(ReplacementsTest, AServerThatIsLostJustAfterTheWriteLosesTheNewShardsLikeAnyOther) {
  const std::string holder = world.Holders("s-1").front();
  world.hold_adds = true;
  Order({"s-1"}, {"bb"});
  world.Die(holder);
  world.hold_adds = false;
  world.adds.clear();
  world.Advance(Seconds(5));
  EXPECT_THAT(world.Holders("s-1.0"), testing::SizeIs(1));
  EXPECT_NE(world.Holders("s-1.0").front(), holder);
}

TEST_F(ReplacementsTest, WaitsWhileTheAppIsPausedAndSaysSo) {
  world.hold_writes = true;
  Order({"s-1"}, {"bb"});
  world.ordered.pause.emplace();
  world.Apply(spec);
  world.hold_writes = false;
  world.FinishWrite(WriteOutcome::kFailed);
  world.Advance(Seconds(5));
  EXPECT_EQ(WaitOf("s-1"), "the app is paused");
  Order({"s-2"}, {"cc"});
  EXPECT_THAT(refusal_, HasSubstr("it is paused: resume it first"));
  world.ordered.pause.reset();
  world.Apply(spec);
  world.Advance(Seconds(1));
  EXPECT_THAT(InMap(), ElementsAre("s-0", "s-1.0", "s-1.1", "s-2", "s-3"));
}

// The damaged record may hold the old shard, but whoever has the new ones shows that they are made.
TEST_F(ReplacementsTest, ARecordThatCannotBeReadDoesNotTakeASplitBack) {
  Order({"s-1"}, {"bb"});
  const std::vector<std::string> holder = world.Holders("s-1.0");
  world.servers[holder.front() == "kv-0" ? "kv-1" : "kv-0"].record_damaged = true;
  world.Restart();
  world.Advance(Seconds(30));
  EXPECT_EQ(world.Holders("s-1.0"), holder);
  EXPECT_EQ(world.Holders("s-1.1"), holder);
  EXPECT_THAT(InMap(), ElementsAre("s-0", "s-1.0", "s-1.1", "s-2", "s-3"));
}

TEST_F(ReplacementsTest, ARecordThatCannotBeReadMayHoldTheOldShard) {
  world.hold_writes = true;
  Order({"s-1"}, {"bb"});
  world.hold_writes = false;
  world.writes.clear();
  const std::string holder = world.Holders("s-1").front();
  world.servers[holder].record_damaged = true;
  world.Restart();
  world.Advance(Seconds(30));
  EXPECT_THAT(world.Holders("s-1"), ElementsAre(holder));
  EXPECT_THAT(world.Holders("s-1.0"), IsEmpty());
}

TEST_F(ReplacementsTest, ADeletedAppIsEmptiedWhateverWasOrdered) {
  world.hold_writes = true;
  Order({"s-1"}, {"bb"});
  world.hold_writes = false;
  world.FinishWrite(WriteOutcome::kFailed);
  world.Apply(spec, /*deleting=*/true);
  world.Advance(Seconds(30));
  EXPECT_TRUE(world.emptied);
}

// It holds the old shard, and never heard of the new ones.
TEST_F(ReplacementsTest, ANewShardLeavesItsServerOnlyWhenTheOldOneIsGoneThere) {
  const std::string holder = world.Holders("s-1").front();
  const std::string other = holder == "kv-0" ? "kv-1" : "kv-0";
  world.servers[holder].answers = false;
  Order({"s-1"}, {"bb"});
  Order({"s-1.0"}, {"ba"});
  EXPECT_THAT(refusal_, HasSubstr("is being made: s-1 into s-1.0, s-1.1"));
  world.Advance(Seconds(60));
  EXPECT_THAT(world.Holders("s-1"), ElementsAre(holder));
  world.servers[holder].answers = true;
  world.servers[holder].cannot_let_go = true;  // requests are in flight
  world.servers[holder].refuses = {"s-1.0", "s-1.1"};
  world.Advance(Seconds(120));
  EXPECT_THAT(world.Holders("s-1"), ElementsAre(holder));
  EXPECT_THAT(world.Holders("s-1.0"), IsEmpty());
  world.servers[holder].cannot_let_go = false;
  world.Advance(Seconds(120));
  EXPECT_THAT(world.Holders("s-1.0"), ElementsAre(other));
  EXPECT_THAT(world.Holders("s-1"), IsEmpty());
}

TEST_F(ReplacementsTest, WhatIsSplitMayBeSplitAndMergedAgain) {
  Order({"s-1"}, {"bb"});
  Order({"s-1.1"}, {"bc"});
  EXPECT_THAT(InMap(), ElementsAre("s-0", "s-1.0", "s-1.1.0", "s-1.1.1", "s-2", "s-3"));
  Order({"s-1.0", "s-1.1.0", "s-1.1.1"}, {}, {"whole"});
  world.Advance(Seconds(30));
  EXPECT_THAT(InMap(), ElementsAre("s-0", "whole", "s-2", "s-3"));
}

TEST_F(ReplacementsTest, ASpecWithOtherShardsMakesTheOrderVoid) {
  world.hold_writes = true;
  Order({"s-1"}, {"bb"});
  world.hold_writes = false;
  world.FinishWrite(WriteOutcome::kFailed);
  world.Apply(RangedSpec(4));  // with s-1, as before
  world.Advance(Seconds(5));
  EXPECT_THAT(InMap(), ElementsAre("s-0", "s-1", "s-2", "s-3"));
  EXPECT_THAT(world.Holders("s-1"), testing::SizeIs(1));
  EXPECT_FALSE(world_state().tables.shard(world_state().tables.FindShard("s-1")).replaced);
}

TEST_F(ReplacementsTest, AnAppWithoutServersHasTheNewShardsAtOnce) {
  World empty(spec);
  v1::ReshapeShardsRequest request;
  request.add_from("s-1");
  request.add_cuts("bb");
  const auto reshape = MakeReshape(spec, request);
  empty.ordered.reshapes.push_back(*reshape);
  empty.Start();
  empty.Apply(WithReshape(spec, *reshape));
  empty.Join("kv-0");
  empty.Advance(Seconds(5));
  EXPECT_THAT(empty.Holders("s-1.0"), ElementsAre("kv-0"));
  EXPECT_THAT(empty.Holders("s-1"), IsEmpty());
}

// Else the order would be forgotten, and nobody would tell the first server where the data is.
TEST_F(ReplacementsTest, AnOrderIsKeptAsLongAsNoServerHasTheNewShards) {
  World empty(spec);
  empty.Start();
  v1::StoredSpec stored;
  *stored.mutable_spec() = spec;
  v1::ReshapeShardsRequest request;
  request.add_from("s-1");
  request.add_cuts("bb");
  const auto split = PlanReshape(empty.partition().state(), stored, request);
  ASSERT_TRUE(split.ok()) << split.status();
  ASSERT_TRUE(PutReshape(empty.partition().state(), *split, stored).ok());
  empty.ordered.reshapes.assign(stored.reshapes().begin(), stored.reshapes().end());
  empty.Apply(stored.spec());
  request.set_from(0, "s-2");
  request.set_cuts(0, "cc");
  const auto other = PlanReshape(empty.partition().state(), stored, request);
  ASSERT_TRUE(other.ok()) << other.status();
  ASSERT_TRUE(PutReshape(empty.partition().state(), *other, stored).ok());
  EXPECT_EQ(stored.reshapes_size(), 2);
}

class ReplacedSecondariesTest : public ReplacementsTest {
 protected:
  ReplacedSecondariesTest() : ReplacementsTest(RangedSpec(4, v1::SECONDARY_ONLY)) {
    world.Join("kv-2");
    world.Advance(Seconds(120));
  }
};

TEST_F(ReplacedSecondariesTest, AllReplicasAreReplacedTogether) {
  const std::vector<std::string> holders = world.Holders("s-1");
  Order({"s-1"}, {"bb"});
  EXPECT_EQ(world.Holders("s-1.0"), holders);
  EXPECT_EQ(world.Holders("s-1.1"), holders);
}

TEST_F(ReplacedSecondariesTest, AMergeBringsEachReplicaToOneOfTheFirst) {
  Order({"s-0", "s-1", "s-2"}, {}, {"m"});
  world.Advance(Seconds(60));
  EXPECT_THAT(InMap(), ElementsAre("m", "s-3"));
  EXPECT_THAT(world.Holders("m"), testing::SizeIs(2));
}

// Servers come and go, leaders change, writes fail, and shards are split and merged all the while.
struct History {
  uint64_t seed;
  v1::ReplicationStrategy strategy;
};

class RandomReplacementsTest : public ReplacementsTest,
                               public ::testing::WithParamInterface<History> {
 protected:
  RandomReplacementsTest() : ReplacementsTest(RangedSpec(4, GetParam().strategy)) {}

  void OrderSomething(Random& random) {
    const std::vector<LayoutShard> layout = ExpandLayout(spec);
    const size_t at = random.Below(layout.size());
    if (random.Below(2) == 0 && at + 1 < layout.size()) {
      Order({layout[at].id.value(), layout[at + 1].id.value()}, {},
            {"m-" + std::to_string(++made_)});
    } else if (const std::string cut = layout[at].start + "m";
               layout.size() < 20 && (layout[at].end.empty() || cut < layout[at].end)) {
      Order({layout[at].id.value()}, {cut},
            {"a-" + std::to_string(++made_), "b-" + std::to_string(made_)});
    }
  }
  void Disturb(Random& random) {
    const std::string server = "kv-" + std::to_string(random.Below(3));
    switch (random.Below(6)) {
      case 0:
        return world.Die(server);
      case 1:
        return world.Restart();
      case 2:
        world.servers[server].refuses.clear();
        return world.Join(server);
      case 3:
        world.servers[server].answers = random.Below(2) == 0;
        return;
      case 4:
        world.servers[server].cannot_let_go = random.Below(2) == 0;
        return;
      default:
        return world.Join(server);
    }
  }

  int made_ = 0;
};

TEST_P(RandomReplacementsTest, KeepInvariantAAndEnd) {
  Random random(GetParam().seed);
  world.Join("kv-2");
  for (int step = 0; step < 60; ++step) {
    if (random.Below(3) == 0) {
      OrderSomething(random);
    } else {
      Disturb(random);
    }
    world.Advance(Milliseconds(static_cast<int64_t>(random.Below(3'000))));
  }
  for (auto& [name, server] : world.servers) {
    server.answers = true;
    server.cannot_let_go = false;
    if (!server.live) world.Join(name);
  }
  world.Advance(Seconds(180));
  std::vector<std::string> wanted;
  for (const LayoutShard& shard : ExpandLayout(spec)) {
    wanted.push_back(shard.id.value());
    EXPECT_EQ(world.Holders(shard.id.value()).size(), spec.replication().replicas())
        << shard.id.value();
  }
  EXPECT_EQ(InMap(), wanted) << WaitOf(InMap().front());
  for (const auto& [name, server] : world.servers) {
    for (const auto& [shard, held] : server.held) {
      EXPECT_TRUE(std::find(wanted.begin(), wanted.end(), shard) != wanted.end())
          << name << " still holds " << shard;
    }
  }
}

std::vector<History> Histories(v1::ReplicationStrategy strategy) {
  std::vector<History> histories;
  for (uint64_t seed = 1; seed <= 60; ++seed) histories.push_back({seed, strategy});
  return histories;
}

INSTANTIATE_TEST_SUITE_P(Primaries, RandomReplacementsTest,
                         ::testing::ValuesIn(Histories(v1::PRIMARY_ONLY)));
INSTANTIATE_TEST_SUITE_P(Both, RandomReplacementsTest,
                         ::testing::ValuesIn(Histories(v1::PRIMARY_SECONDARY)));

}  // namespace
}  // namespace shardmanager::orchestrator
