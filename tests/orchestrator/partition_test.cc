#include "orchestrator/core/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "orchestrator/describe/shards.h"
#include "tests/orchestrator/history.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(PartitionTest, PlacesAllShardsEvenlyAndPublishesThem) {
  World world(TestSpec(12));
  world.Start();
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Join(name);
  world.Advance(Seconds(30));
  EXPECT_EQ(world.Served(), 12u);
  for (const auto& [name, count] : world.Counts()) EXPECT_EQ(count, 4u) << name;
  EXPECT_GT(world.publishes, 0);
}

// An app that is deleted and made again under one leader: its servers remember.
TEST(PartitionTest, NeverGivesAnEpochTwiceAlsoForAnAppThatIsMadeAgain) {
  World world(TestSpec(2), /*leader_epoch=*/3, /*epochs_given=*/7);
  world.hold_writes = true;
  world.Start();
  world.Join("kv-0");
  world.Gather();
  ASSERT_THAT(world.writes, SizeIs(1));
  const auto& replicas = world.writes[0].writes.at(0).replicas;
  ASSERT_THAT(replicas, SizeIs(2));
  EXPECT_EQ(replicas[0].epoch, ShardEpoch(uint64_t{3} << 32 | 8));
  EXPECT_EQ(replicas[1].epoch, ShardEpoch(uint64_t{3} << 32 | 9));
}

TEST(PartitionTest, CommandsNothingBeforeItsWriteIsDurable) {
  World world(TestSpec(3));
  world.hold_writes = true;
  world.Start();
  world.Join("kv-0");
  world.Gather();
  ASSERT_THAT(world.writes, SizeIs(1));
  EXPECT_THAT(world.commands, IsEmpty());
  world.FinishWrite(WriteOutcome::kOk);
  EXPECT_THAT(world.commands, SizeIs(3));
}

TEST(PartitionTest, FailsOverALostServerAfterTheConfiguredDelay) {
  v1::AppSpec spec = TestSpec(10);
  spec.mutable_failover()->set_delay_ms(5'000);
  World world(spec);
  world.Start();
  world.Join("kv-0");
  world.Join("kv-1");
  world.Advance(Seconds(30));
  world.Die("kv-0");
  world.Advance(Milliseconds(4'900));
  EXPECT_EQ(world.Counts().at("kv-1"), 5u);
  world.Advance(Milliseconds(200));
  EXPECT_EQ(world.Counts().at("kv-1"), 10u);
  EXPECT_EQ(world.NoteCount(NoteKind::kFailoverStarted), 1u);
  world.Advance(Seconds(1));
  EXPECT_EQ(world.NoteCount(NoteKind::kFailoverFinished), 1u);
}

TEST(PartitionTest, AServerThatComesBackWithinTheDelayKeepsItsShards) {
  v1::AppSpec spec = TestSpec(10);
  spec.mutable_failover()->set_delay_ms(5'000);
  World world(spec);
  world.Start();
  world.Join("kv-0");
  world.Join("kv-1");
  world.Advance(Seconds(30));
  const auto before = world.Counts();
  world.Die("kv-0");
  world.Advance(Seconds(2));
  world.Join("kv-0");
  world.Advance(Seconds(20));
  EXPECT_EQ(world.Counts(), before);
  EXPECT_EQ(world.NoteCount(NoteKind::kFailoverStarted), 0u);
}

TEST(PartitionTest, DoesNotWaitForAServerThatSaidGoodBye) {
  v1::AppSpec spec = TestSpec(10);
  spec.mutable_failover()->set_delay_ms(600'000);
  World world(spec);
  world.Start();
  world.Join("kv-0");
  world.Join("kv-1");
  world.Advance(Seconds(30));
  world.Depart("kv-0");
  EXPECT_EQ(world.Counts().at("kv-1"), 10u);
}

TEST(PartitionTest, FailoverWriteChecksTheRegistrationAndYieldsWhenTheServerIsBack) {
  World world(TestSpec(4));
  world.Start();
  world.Join("kv-0");
  world.Join("kv-1");
  world.Advance(Seconds(30));
  world.hold_writes = true;
  world.Die("kv-0");
  ASSERT_THAT(world.writes, SizeIs(1));
  ASSERT_THAT(world.writes[0].checks, SizeIs(1));
  EXPECT_EQ(world.writes[0].checks[0].version, 1);
  world.recheck = false;
  world.FinishWrite(WriteOutcome::kConflict, "kv-0");
  EXPECT_THAT(world.writes, IsEmpty());  // not again before its new life is seen
  world.Join("kv-0");
  world.hold_writes = false;
  world.Advance(Seconds(20));
  EXPECT_EQ(world.Counts().at("kv-0"), 2u);
}

TEST(PartitionTest, MovesAPrimaryByDroppingItDurablyBeforeGrantingItElsewhere) {
  v1::AppSpec spec = TestSpec(4);
  spec.mutable_moves()->set_primary_move(v1::DROP_THEN_ADD);
  World world(spec);
  world.Start();
  world.Join("kv-0");
  world.Advance(Seconds(1));
  world.commands.clear();
  world.hold_writes = true;
  world.Join("kv-1");
  world.Advance(Seconds(1));
  ASSERT_THAT(world.writes, SizeIs(1));
  EXPECT_THAT(world.commands, IsEmpty());
  world.FinishWrite(WriteOutcome::kOk);  // dropping at kv-0, reserved at kv-1
  ASSERT_FALSE(world.commands.empty());
  for (const std::string& c : world.commands) EXPECT_EQ(c.substr(0, 4), "drop");
  ASSERT_THAT(world.writes, SizeIs(1));
  const size_t drops = world.commands.size();
  world.FinishWrite(WriteOutcome::kOk);  // gone from kv-0, granted at kv-1
  for (size_t i = drops; i < world.commands.size(); ++i) {
    EXPECT_EQ(world.commands[i].substr(0, 3), "add");
  }
  world.hold_writes = false;
  while (!world.writes.empty()) world.FinishWrite(WriteOutcome::kOk);
  world.Advance(Seconds(20));
  EXPECT_EQ(world.Counts(), (std::map<std::string, size_t>{{"kv-0", 2}, {"kv-1", 2}}));
}

TEST(PartitionTest, EvensOutADifferenceOfTwo) {
  World world(TestSpec(2));
  world.Start();
  world.Join("kv-0");
  world.Gather();
  world.Join("kv-1");
  world.Advance(Seconds(30));
  EXPECT_EQ(world.Counts(), (std::map<std::string, size_t>{{"kv-0", 1}, {"kv-1", 1}}));
}

TEST(PartitionTest, EveryGrantHasAHigherEpochThanAllBeforeIt) {
  World world(TestSpec(1));
  world.Start();
  world.Join("kv-0");
  world.Join("kv-1");
  world.Gather();
  uint64_t last = 0;
  for (int round = 0; round < 6; ++round) {
    const std::string holder = world.Holders("s-0").at(0);
    const uint64_t epoch = world.servers.at(holder).held.at("s-0").epoch.value();
    EXPECT_GT(epoch, last);
    last = epoch;
    world.Die(holder);
    world.Join(holder);
    if (round == 2) world.Restart();
  }
}

TEST(PartitionTest, ASecondaryIsAddedBeforeTheOldOneIsDropped) {
  World world(TestSpec(6, v1::SECONDARY_ONLY, 2));
  world.Start();
  world.Join("kv-0");
  world.Join("kv-1");
  world.Advance(Seconds(1));
  world.commands.clear();
  world.Join("kv-2");
  world.Advance(Seconds(60));
  for (const auto& [name, count] : world.Counts()) EXPECT_EQ(count, 4u) << name;
  std::set<std::string> added;
  for (const std::string& c : world.commands) {
    const std::string shard = c.substr(c.find(' ') + 1, 3);
    if (c.substr(0, 3) == "add") added.insert(shard);
    if (c.substr(0, 4) == "drop") {
      EXPECT_TRUE(added.count(shard)) << c;
    }
  }
}

TEST(PartitionTest, ASuccessorFinishesAMoveThatWasHalfDone) {
  World world(TestSpec(4));
  world.Start();
  world.Join("kv-0");
  world.Advance(Seconds(1));
  world.hold_writes = true;
  world.Join("kv-1");
  world.Advance(Seconds(1));
  world.FinishWrite(WriteOutcome::kOk);
  world.hold_writes = false;
  world.Restart();
  world.Advance(Seconds(30));
  EXPECT_EQ(world.Served(), 4u);
  EXPECT_EQ(world.Counts(), (std::map<std::string, size_t>{{"kv-0", 2}, {"kv-1", 2}}));
}

TEST(PartitionTest, ASuccessorMovesNothingThatIsWellPlaced) {
  World world(TestSpec(20));
  world.Start();
  for (const char* name : {"kv-0", "kv-1", "kv-2", "kv-3"}) world.Join(name);
  world.Advance(Seconds(30));
  world.commands.clear();
  world.Restart();
  world.Advance(Seconds(60));
  EXPECT_THAT(world.commands, IsEmpty());
  EXPECT_EQ(world.Served(), 20u);
}

// F1: a deposed controller kept sending commands.
TEST(PartitionTest, F1_ADeposedLeaderStopsAtOnce) {
  World world(TestSpec(4));
  world.hold_writes = true;
  world.Start();
  world.Join("kv-0");
  world.Gather();
  world.Apply(TestSpec(8));  // and more is to be written
  world.FinishWrite(WriteOutcome::kDeposed);
  EXPECT_TRUE(world.stepped_down);
  world.commands.clear();
  world.Join("kv-1");
  world.Advance(Seconds(60));
  EXPECT_THAT(world.commands, IsEmpty());
  EXPECT_THAT(world.writes, IsEmpty());
}

// Each plan would find it whole, and the next one would be asked for at once.
TEST(PartitionTest, NoPlanIsAskedForAShardWhoseServerIsBack) {
  World world(TestSpec(3));
  world.Start();
  world.Join("kv-0");
  world.Advance(Seconds(30));
  world.hold_writes = true;
  world.Join("kv-1", "r1", /*capacity=*/1);
  world.Die("kv-0");
  world.Advance(Seconds(1));
  ASSERT_THAT(world.writes, SizeIs(1)) << "of one shard: kv-1 has no room for the others";
  world.recheck = false;
  world.FinishWrite(WriteOutcome::kConflict, "kv-0");
  world.hold_plans = true;
  world.Advance(Seconds(30));
  for (int i = 0; i < 3 && !world.plans.empty(); ++i) world.FinishPlan();
  EXPECT_THAT(world.plans, IsEmpty());
}

// F3: two quick spec changes, the second ignored.
TEST(PartitionTest, F3_TheLastOfTwoQuickSpecChangesHolds) {
  World world(TestSpec(4));
  world.Start();
  world.Join("kv-0");
  world.Gather();
  world.hold_writes = true;
  world.Apply(TestSpec(8));
  world.Apply(TestSpec(6));
  world.hold_writes = false;
  while (!world.writes.empty()) world.FinishWrite(WriteOutcome::kOk);
  world.Advance(Seconds(10));
  EXPECT_EQ(world.Counts().at("kv-0"), 6u);
}

// F6: a command was missed during an outage and never sent again.
TEST(PartitionTest, F6_CommandsThatDidNotGetThroughAreSentAgain) {
  World world(TestSpec(4));
  world.Start();
  world.Join("kv-0");
  world.Gather();
  world.servers.at("kv-0").answers = false;
  world.Apply(TestSpec(8));
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Counts().at("kv-0"), 4u);
  world.servers.at("kv-0").answers = true;
  world.Advance(Seconds(10));
  EXPECT_EQ(world.Counts().at("kv-0"), 8u);
  EXPECT_EQ(world.Served(), 8u);
}

// F13: one impossible thing starved every other.
TEST(PartitionTest, F13_AnUnplaceableShardDoesNotHoldUpTheOthers) {
  v1::AppSpec spec = TestSpec(5);
  World world(spec);
  world.servers["kv-0"].capacity = 4;
  world.servers["kv-0"].live = true;
  world.servers["kv-0"].incarnation = Incarnation(1);
  world.Start();
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Served(), 4u);
  EXPECT_EQ(world.NoteCount(NoteKind::kShardUnplaceable), 1u);  // said once
  world.Join("kv-1");
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Served(), 5u);
}

TEST(PartitionTest, AFailingAddIsTriedAgainWithBackOffAndSaysWhy) {
  World world(TestSpec(2));
  world.Start();
  world.servers["kv-0"].refuses = {"s-1"};
  world.Join("kv-0");
  world.Advance(Seconds(10));
  EXPECT_EQ(world.Served(), 1u);
  const Tables& tables = world.partition().tables();
  EXPECT_EQ(ErrorOf(world.partition().state(), tables.FindShard("s-1"), tables.FindServer("kv-0")),
            "disk full");
  EXPECT_LE(world.NoteCount(NoteKind::kCommandFailed), 9u);
  world.servers.at("kv-0").refuses.clear();
  world.Advance(Seconds(30));
  EXPECT_EQ(world.Served(), 2u);
}

TEST(PartitionTest, RemovedShardsAreDropped) {
  World world(TestSpec(8));
  world.Start();
  world.Join("kv-0");
  world.Apply(TestSpec(5));
  world.Advance(Seconds(1));
  EXPECT_EQ(world.Counts().at("kv-0"), 5u);
  EXPECT_EQ(world.partition().tables().replica_count(), 5u);
}

TEST(PartitionTest, ADeletedAppEndsEmpty) {
  World world(TestSpec(8));
  world.Start();
  world.Join("kv-0");
  world.Apply(TestSpec(8), /*deleting=*/true);
  EXPECT_TRUE(world.emptied);
  EXPECT_EQ(world.Counts().at("kv-0"), 0u);
}

TEST(PartitionTest, FailoverKeepsItsBudget) {
  v1::AppSpec spec = TestSpec(40);
  spec.mutable_failover()->set_max_concurrent(5);
  World world(spec);
  world.Start();
  world.Join("kv-0");
  world.Join("kv-1");
  world.Advance(Seconds(60));
  world.servers.at("kv-1").answers = false;
  world.Die("kv-0");
  world.Advance(Seconds(1));
  const auto on_1 = world.partition()
                        .tables()
                        .server(world.partition().tables().FindServer("kv-1"))
                        .replicas.size();
  EXPECT_EQ(on_1, 25u);
  world.servers.at("kv-1").answers = true;
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Served(), 40u);
}

TEST(PartitionTest, DropsWhatAServerHoldsWithoutAssignment) {
  World world(TestSpec(2));
  world.Start();
  world.Join("kv-0");
  world.servers.at("kv-0").held["stray"] = {ShardEpoch(1), Role::kPrimary};
  world.Advance(Seconds(31));
  EXPECT_THAT(world.Holders("stray"), IsEmpty());
}

TEST(PartitionTest, ASpuriousWakeChangesNothing) {
  World world(TestSpec(4));
  world.Start();
  world.Join("kv-0");
  world.Advance(Seconds(1));
  const size_t commands = world.commands.size();
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(world.partition().OnAdvance(world.now).actions, IsEmpty());
  }
  EXPECT_EQ(world.commands.size(), commands);
}

// Records that cannot be: kv-0 hands s-0 over to kv-2, and kv-1 has the right to serve it, too.
void RecordTwoPrimaries(World& world) {
  const std::map<std::string, Phase> phases = {
      {"kv-0", Phase::kForwarding}, {"kv-1", Phase::kGranted}, {"kv-2", Phase::kPreparing}};
  for (const auto& [name, phase] : phases) {
    World::AppServer& server = world.servers[name];
    server.incarnation = Incarnation(1);
    server.live = true;
    server.answers = false;
    server.record = {{"s-0", Role::kPrimary, ShardEpoch(7), phase}};
  }
}

TEST(PartitionDeathTest, ARecordedSecondPrimaryEndsTheProcessBeforeAnotherOneIsGranted) {
  World world(TestSpec(1));
  RecordTwoPrimaries(world);
  world.servers["kv-0"].live = false;
  EXPECT_DEATH(world.Start(), "two replicas would have the right to serve as primary");
}

TEST(PartitionDeathTest, ARecordedSecondPrimaryEndsTheProcessBeforeAHandoverIsCalledOff) {
  World world(TestSpec(1));
  RecordTwoPrimaries(world);
  world.servers["kv-0"].answers = true;
  world.servers["kv-0"].cannot_let_go = true;
  world.servers["kv-0"].held["s-0"] = {ShardEpoch(7), Role::kPrimary};
  EXPECT_DEATH(world.Start(), "a second replica has the right to serve as primary");
}

TEST(PartitionTest, ConvergesFromAnyHistory) {
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const std::string bytes = History::Draw(seed);
    fuzz::FuzzInput input(bytes);
    History history(input);
    while (!input.empty() && !HasFailure()) history.Step();
    history.Settle();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace shardmanager::orchestrator
