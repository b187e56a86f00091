// The graceful move of a primary: each step, and each way off it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "model/map_reach.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using Counts = std::map<std::string, size_t>;

// One shard "s-0" at kv-0, which is to be emptied; kv-1 is there to take it.
class HandoverTest : public testing::Test {
 protected:
  HandoverTest() : world(TestSpec(1)) {}

  void SetUp() override {
    world.Start();
    world.Join("kv-0");
    world.Gather();
    world.Join("kv-1");
    world.Advance(Seconds(1));
    ASSERT_THAT(world.Holders("s-0"), ElementsAre("kv-0"));
    world.commands.clear();
    world.hold_writes = true;
    v1::Drain drain;
    drain.mutable_scope()->set_server("kv-0");
    world.ordered.drains = {drain};
    world.Apply(TestSpec(1));
    world.Advance(Milliseconds(10));
  }

  // The write that is out becomes durable; gives what was asked of servers then.
  std::vector<std::string> Write() {
    world.commands.clear();
    EXPECT_THAT(world.writes, SizeIs(1));
    if (!world.writes.empty()) world.FinishWrite(WriteOutcome::kOk);
    return world.commands;
  }
  void LetGo() {
    world.hold_writes = false;
    while (!world.writes.empty()) world.FinishWrite(WriteOutcome::kOk);
    world.Advance(Seconds(60));
  }
  // Where clients are sent.
  std::vector<std::string> Published() { return world.Published("s-0"); }
  // As stored, "kv-0 granted".
  std::vector<std::string> Stored() {
    std::vector<std::string> phases;
    for (const auto& [name, server] : world.servers) {
      for (const StoredReplica& replica : server.record) {
        phases.push_back(name + " " + std::string(ToString(replica.phase)));
      }
    }
    return phases;
  }

  World world;
};

TEST_F(HandoverTest, GoesStepByStepEachDurableFirst) {
  EXPECT_THAT(world.commands, IsEmpty());
  EXPECT_THAT(Write(), ElementsAre("prepare-add s-0 kv-1"));
  EXPECT_THAT(Stored(), ElementsAre("kv-0 granted", "kv-1 preparing"));
  EXPECT_THAT(Write(), ElementsAre("prepare-drop s-0 kv-0"));
  EXPECT_THAT(Stored(), ElementsAre("kv-0 forwarding", "kv-1 preparing"));
  EXPECT_THAT(Write(), ElementsAre("add s-0 kv-1", "drop s-0 kv-0"));
  EXPECT_THAT(Stored(), ElementsAre("kv-0 dropping", "kv-1 granted"));
  EXPECT_THAT(Write(), IsEmpty());
  EXPECT_THAT(Stored(), ElementsAre("kv-1 granted"));
}

// Seed 6749 of the simulation: what is sent on once is not sent on again, and a client that has
// just lost its publisher asks for a newer map after up to four seconds.
TEST_F(HandoverTest, ClientsAreGivenTimeToKnowOfItBeforeTheNextOne) {
  LetGo();
  ASSERT_THAT(world.Holders("s-0"), ElementsAre("kv-1"));
  world.Join("kv-2");
  world.Gather();
  const auto drain_from = [&](const std::string& server) {
    world.ordered.drains.resize(1);
    world.ordered.drains[0].mutable_scope()->set_server(server);
    world.Apply(TestSpec(1));
  };
  drain_from("kv-1");
  world.Advance(Seconds(1));
  const std::vector<std::string> second = world.Holders("s-0");
  ASSERT_THAT(second, Not(ElementsAre("kv-1")));
  const size_t moves = world.NoteCount(NoteKind::kMoveStarted);
  drain_from(second[0]);
  world.Advance(kClientsReturnWithin - Milliseconds(100));
  EXPECT_EQ(world.Holders("s-0"), second);
  EXPECT_EQ(world.NoteCount(NoteKind::kMoveStarted), moves) << "none is said to have begun";
  EXPECT_THAT(world.WaitsOf("s-0"), Contains(HasSubstr("clients are given a moment")));
  world.Advance(Seconds(1));
  EXPECT_THAT(world.Holders("s-0"), Not(ElementsAre(second[0])));
  EXPECT_THAT(world.WaitsOf("s-0"), IsEmpty());
}

TEST_F(HandoverTest, TheOldOwnerIsToldToForgetOnlyOnceTheNewOneServes) {
  world.hold_adds = true;
  Write();
  Write();
  EXPECT_THAT(Write(), ElementsAre("add s-0 kv-1"));
  world.commands.clear();
  world.FinishAdds();
  EXPECT_THAT(world.commands, ElementsAre("drop s-0 kv-0"));
}

TEST_F(HandoverTest, ClientsAreSentToTheOldOwnerUntilTheNewOneServes) {
  world.hold_adds = true;
  for (int step = 0; step < 3; ++step) {
    EXPECT_THAT(Published(), ElementsAre("kv-0*"));
    Write();
  }
  EXPECT_THAT(Published(), ElementsAre("kv-0*"));
  world.FinishAdds();
  EXPECT_THAT(Published(), ElementsAre("kv-1*"));
}

TEST_F(HandoverTest, ASuccessorGoesOnFromWhateverIsStored) {
  for (int steps = 0; steps < 3; ++steps) {
    SCOPED_TRACE(absl::StrCat(steps, " steps are durable"));
    if (steps > 0) Write();
    world.writes.clear();
    world.Restart();
    EXPECT_THAT(Published(), ElementsAre("kv-0*"));
  }
  LetGo();
  EXPECT_EQ(world.Counts(), (Counts{{"kv-0", 0}, {"kv-1", 1}}));
  EXPECT_THAT(Published(), ElementsAre("kv-1*"));
}

TEST_F(HandoverTest, TheNewOwnerHasItAtOnceWhenTheOldOneIsLostBeforeItWasTold) {
  Write();
  world.writes.clear();  // lost with the leader that sent it
  world.Die("kv-0");
  world.Restart();
  while (!world.writes.empty()) Write();
  EXPECT_THAT(Published(), ElementsAre("kv-1*")) << "no failover delay";
  EXPECT_THAT(Stored(), ElementsAre("kv-1 granted"));
}

TEST_F(HandoverTest, TheNewOwnerHasItAtOnceWhenTheOldOneIsLostWhileItLetsGo) {
  Write();
  world.servers.at("kv-0").answers = false;
  Write();
  world.Die("kv-0");
  while (!world.writes.empty()) Write();
  EXPECT_THAT(Published(), ElementsAre("kv-1*")) << "no failover delay";
  EXPECT_THAT(Stored(), ElementsAre("kv-1 granted"));
}

TEST_F(HandoverTest, NothingHasHappenedWhenTheNewOwnerIsLostBeforeTheOldOneWasTold) {
  const ShardEpoch before = world.servers.at("kv-0").held.at("s-0").epoch;
  world.servers.at("kv-1").answers = false;
  Write();
  world.Die("kv-1");
  LetGo();
  EXPECT_THAT(Published(), ElementsAre("kv-0*"));
  EXPECT_EQ(world.servers.at("kv-0").held.at("s-0").epoch, before) << "it was never asked";
}

TEST_F(HandoverTest, WhenTheNewOwnerIsLostLaterTheOldOneStopsAndTheShardIsPlacedAnew) {
  const ShardEpoch before = world.servers.at("kv-0").held.at("s-0").epoch;
  world.Join("kv-2");
  Write();
  world.servers.at("kv-0").answers = false;  // so that the handover stays where it is
  Write();
  world.Die("kv-1");
  world.servers.at("kv-0").answers = true;
  LetGo();
  EXPECT_THAT(Published(), ElementsAre("kv-2*"));
  EXPECT_GT(world.servers.at("kv-2").held.at("s-0").epoch, before);
}

TEST_F(HandoverTest, IsCalledOffWhenTheNewOwnerCannotPrepare) {
  world.servers.at("kv-1").refuses.insert("s-0");
  const ShardEpoch before = world.servers.at("kv-0").held.at("s-0").epoch;
  world.hold_plans = true;
  LetGo();
  EXPECT_THAT(Stored(), ElementsAre("kv-0 granted"));
  EXPECT_EQ(world.servers.at("kv-0").held.at("s-0").epoch, before);
  EXPECT_EQ(world.NoteCount(NoteKind::kCommandFailed), 3u);
  EXPECT_THAT(Published(), ElementsAre("kv-0*"));
}

// ---- called off by the old owner (finding 4 of the attack): its requests take too long

TEST_F(HandoverTest, WhenTheOldOwnerCannotLetGoItServesOnUnderItsGrant) {
  const ShardEpoch before = world.servers.at("kv-0").held.at("s-0").epoch;
  world.servers.at("kv-0").cannot_let_go = true;
  Write();
  EXPECT_THAT(Write(), ElementsAre("prepare-drop s-0 kv-0"));
  EXPECT_THAT(Published(), ElementsAre("kv-0*"));
  EXPECT_THAT(Write(), ElementsAre("drop s-0 kv-1")) << "kv-0 is asked for nothing";
  EXPECT_THAT(Stored(), ElementsAre("kv-0 granted", "kv-1 dropping"));
  EXPECT_THAT(Published(), ElementsAre("kv-0*"));
  Write();
  EXPECT_THAT(Stored(), ElementsAre("kv-0 granted"));
  EXPECT_EQ(world.servers.at("kv-0").held.at("s-0").epoch, before);
}

TEST_F(HandoverTest, AnOwnerThatBeginsAnewWhileItIsCalledOffIsAskedToAddItAgain) {
  world.servers.at("kv-0").cannot_let_go = true;
  Write();
  Write();
  world.Die("kv-0");
  world.Join("kv-0");  // before its session has ended for the orchestrator: another life
  world.commands.clear();
  EXPECT_THAT(Write(), Contains("add s-0 kv-0"));
}

TEST_F(HandoverTest, WhatWasCalledOffIsTriedAgainAtGrowingIntervals) {
  world.servers.at("kv-0").cannot_let_go = true;
  world.hold_writes = false;
  while (!world.writes.empty()) world.FinishWrite(WriteOutcome::kOk);
  world.Advance(Seconds(30));
  EXPECT_EQ(world.NoteCount(NoteKind::kMoveCalledOff), 1u);
  EXPECT_THAT(world.WaitsOf("s-0"),
              Contains(HasSubstr("its last move was called off, as requests in flight")));
  for (const int minutes : {2, 4, 8, 16, 32, 32}) {
    const size_t before = world.NoteCount(NoteKind::kMoveCalledOff);
    world.Advance(Seconds(60 * minutes));
    EXPECT_EQ(world.NoteCount(NoteKind::kMoveCalledOff), before + 1) << minutes;
    EXPECT_THAT(Published(), ElementsAre("kv-0*"));
  }
  world.servers.at("kv-0").cannot_let_go = false;
  world.Advance(Seconds(60 * 33));
  EXPECT_THAT(Published(), ElementsAre("kv-1*"));
  EXPECT_THAT(world.WaitsOf("s-0"), IsEmpty());
}

TEST_F(HandoverTest, ASuccessorHearsOfWhatWasCalledOffFromTheOldOwner) {
  world.servers.at("kv-0").cannot_let_go = true;
  Write();
  Write();
  world.writes.clear();  // lost with the leader that sent it
  world.Restart();
  LetGo();
  EXPECT_THAT(Stored(), ElementsAre("kv-0 granted"));
  EXPECT_THAT(Published(), ElementsAre("kv-0*"));
}

TEST_F(HandoverTest, WhenItIsCalledOffAndTheNewOwnerIsLostTheOldOneServesOn) {
  const ShardEpoch before = world.servers.at("kv-0").held.at("s-0").epoch;
  world.servers.at("kv-0").cannot_let_go = true;
  Write();
  world.servers.at("kv-1").answers = false;
  Write();
  world.Die("kv-1");
  LetGo();
  EXPECT_THAT(Stored(), ElementsAre("kv-0 granted"));
  EXPECT_EQ(world.servers.at("kv-0").held.at("s-0").epoch, before);
}

TEST_F(HandoverTest, WhatIsCalledOffOfAnAppThatIsDeletedIsAskedForAgain) {
  world.servers.at("kv-0").cannot_let_go = true;
  Write();
  world.Apply(TestSpec(1), /*deleting=*/true);
  LetGo();
  EXPECT_FALSE(world.emptied);
  world.servers.at("kv-0").cannot_let_go = false;
  world.Advance(Seconds(60));
  EXPECT_TRUE(world.emptied);
}

// As when it was told to drop it once more, late.
TEST_F(HandoverTest, AGrantThatItsServerSaysIsOverIsReplacedByANewOne) {
  world.ordered.drains.clear();
  world.Apply(TestSpec(1));
  LetGo();
  const std::string owner = world.Holders("s-0")[0];
  World::AppServer& server = world.servers.at(owner);
  const ShardEpoch before = server.held.at("s-0").epoch;
  server.held.erase("s-0");
  server.over["s-0"] = before;
  world.Advance(Seconds(31));  // it is asked what it holds
  ASSERT_THAT(Published(), SizeIs(1));
  const std::string next = world.Holders("s-0")[0];
  EXPECT_GT(world.servers.at(next).held.at("s-0").epoch, before);
}

// As when the record of the old one could not be read, and was released.
TEST(HandoverRecoveryTest, ANewOwnerWhoseOldOneHasNoRecordGetsTheShard) {
  World world(TestSpec(1));
  world.servers["kv-1"].incarnation = Incarnation(1);
  world.servers["kv-1"].live = true;
  world.servers["kv-1"].record = {{"s-0", Role::kPrimary, ShardEpoch(2), Phase::kPreparing}};
  world.Start();
  EXPECT_THAT(world.Published("s-0"), ElementsAre("kv-1*"));
}

// The app is deleted during a handover, and made again before either server has let go.
TEST(RetirementTest, WhoCannotLetGoServesOnOnlyWhenTheOtherOneHasLetGo) {
  World world(TestSpec(1));
  world.Start();
  world.Join("kv-0");
  world.Gather();
  world.Join("kv-1");
  world.Join("kv-2");
  world.servers.at("kv-1").answers = world.servers.at("kv-2").answers = false;
  world.ordered.drains.emplace_back().mutable_scope()->set_server("kv-0");
  world.Apply(TestSpec(1));
  world.Advance(Seconds(1));
  world.servers.at("kv-0").cannot_let_go = true;
  world.ordered.drains.clear();
  world.Apply(TestSpec(1), /*deleting=*/true);
  world.Join("kv-3");
  world.Apply(TestSpec(1));
  world.Advance(Seconds(30));
  EXPECT_THAT(world.Holders("s-0"), ElementsAre("kv-0"));
  EXPECT_EQ(world.NoteCount(NoteKind::kMoveCalledOff), 0u);

  world.servers.at("kv-1").answers = world.servers.at("kv-2").answers = true;
  world.Advance(Seconds(30));
  EXPECT_THAT(world.Published("s-0"), ElementsAre("kv-0*"));
  EXPECT_EQ(world.NoteCount(NoteKind::kMoveCalledOff), 1u);
}
// Found by a history: the move was called off, the write of that came to nothing, and the app was
// deleted before it was tried again.
TEST(DropThenAddTest, WhoIsToDropIsAskedAgainThoughNothingCameOfCallingItOff) {
  v1::AppSpec spec = TestSpec(1);
  spec.mutable_moves()->set_primary_move(v1::DROP_THEN_ADD);
  World world(spec);
  world.Start();
  world.Join("kv-0");
  world.Gather();
  world.Join("kv-1");
  world.servers.at("kv-0").cannot_let_go = true;
  world.hold_writes = true;
  world.ordered.drains.emplace_back().mutable_scope()->set_server("kv-0");
  world.Apply(spec);
  world.FinishWrite(WriteOutcome::kOk);
  ASSERT_THAT(world.commands, Contains("drop s-0 kv-0"));
  world.Advance(Seconds(10));
  ASSERT_THAT(world.writes, SizeIs(1)) << "kv-0 is to serve on";
  world.Apply(spec, /*deleting=*/true);
  world.hold_writes = false;
  world.FinishWrite(WriteOutcome::kFailed);
  world.servers.at("kv-0").cannot_let_go = false;
  world.Advance(Seconds(60));
  EXPECT_TRUE(world.emptied);
}

// Found by a test with real processes: what was on its way counted at both servers, so one more
// followed, and came back later.
TEST(BalanceTest, WhatMovesCountsWhereItIsGoing) {
  v1::AppSpec spec = TestSpec(4);
  World world(spec);
  world.Start();
  world.Join("kv-0");
  world.Advance(Seconds(1));
  world.hold_adds = true;  // the moves stay on their way
  world.Join("kv-1");
  world.Advance(Seconds(5));
  ASSERT_EQ(world.adds.size(), 2u);
  spec.mutable_commands()->set_timeout_ms(59'000);
  world.Apply(spec);  // a reason to look at the balance again
  world.Advance(Seconds(60));
  EXPECT_EQ(world.NoteCount(NoteKind::kMoveStarted), 2u);
}

// kv-0 has the shard, and stops before another server begins.
class BasicMoveTest : public testing::Test {
 protected:
  BasicMoveTest() {
    world.Start();
    world.Join("kv-0");
    world.Gather();
    world.Join("kv-1");
    world.Advance(Seconds(1));
  }
  static v1::AppSpec Spec() {
    v1::AppSpec spec = TestSpec(1);
    spec.mutable_moves()->set_primary_move(v1::DROP_THEN_ADD);
    return spec;
  }

  const v1::AppSpec spec = Spec();
  World world{spec};
};

TEST_F(BasicMoveTest, WhenTheOldOwnerCannotStopItServesOnUnderItsGrant) {
  ASSERT_THAT(world.Holders("s-0"), ElementsAre("kv-0"));
  const ShardEpoch before = world.servers.at("kv-0").held.at("s-0").epoch;
  world.servers.at("kv-0").cannot_let_go = true;
  v1::Drain drain;
  drain.mutable_scope()->set_server("kv-0");
  world.ordered.drains = {drain};
  world.commands.clear();
  world.Apply(spec);
  world.Advance(Seconds(55));
  EXPECT_THAT(world.commands, ElementsAre("drop s-0 kv-0"));
  EXPECT_THAT(world.Published("s-0"), ElementsAre("kv-0*"));
  EXPECT_EQ(world.servers.at("kv-0").held.at("s-0").epoch, before);
  world.servers.at("kv-0").cannot_let_go = false;
  world.Advance(Seconds(60));
  EXPECT_THAT(world.Published("s-0"), ElementsAre("kv-1*"));
}

// The strategy changes while kv-1 waits for kv-0 to stop. A move of the secondary at kv-2, planned
// before, waits until kv-1 has the right to serve.
TEST_F(BasicMoveTest, NothingElseMovesWhileTheNewOwnerWaitsForTheRight) {
  world.servers.at("kv-0").answers = false;
  world.ordered.drains.emplace_back().mutable_scope()->set_server("kv-0");
  world.Apply(spec);
  world.Advance(Seconds(1));
  world.Join("kv-2");
  world.Apply(TestSpec(1, v1::PRIMARY_SECONDARY, 2));
  world.Advance(Seconds(1));
  ASSERT_THAT(world.servers.at("kv-1").record, SizeIs(1));
  ASSERT_EQ(world.servers.at("kv-1").record[0].phase, Phase::kReserved);
  ASSERT_THAT(world.Roles("s-0"), Contains("kv-2"));

  world.hold_plans = true;
  world.Join("kv-3");
  ASSERT_THAT(world.plans, SizeIs(1));
  world.hold_writes = true;
  world.servers.at("kv-0").answers = true;
  world.Advance(Seconds(6));
  ASSERT_THAT(world.writes, SizeIs(1)) << "kv-0 has stopped";
  const Tables& tables = world.partition().tables();
  PlanReady plan{.id = world.plans.front().id, .plan = {}};
  plan.plan.moves.push_back({.shard = tables.FindShard("s-0"),
                             .from = tables.FindServer("kv-2"),
                             .to = tables.FindServer("kv-3"),
                             .role = Role::kSecondary});
  world.Send(plan);
  world.FinishWrite(WriteOutcome::kOk);
  ASSERT_THAT(world.writes, SizeIs(1));
  ASSERT_THAT(world.writes[0].writes, SizeIs(1));
  EXPECT_EQ(tables.name(world.writes[0].writes[0].server), "kv-1");
}

TEST_F(HandoverTest, OfAnAppThatIsDeletedEndsEmpty) {
  Write();
  Write();
  world.Apply(TestSpec(1), /*deleting=*/true);
  LetGo();
  EXPECT_TRUE(world.emptied);
  EXPECT_EQ(world.Counts(), (Counts{{"kv-0", 0}, {"kv-1", 0}}));
}

TEST_F(HandoverTest, GoesOnWithTheNextLifeOfEitherServer) {
  Write();
  world.Die("kv-1");
  world.Join("kv-1");
  world.Die("kv-0");
  world.Join("kv-0");
  LetGo();
  EXPECT_EQ(world.Counts(), (Counts{{"kv-0", 0}, {"kv-1", 1}}));
}

}  // namespace
}  // namespace shardmanager::orchestrator
