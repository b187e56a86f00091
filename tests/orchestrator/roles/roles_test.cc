// Apps with primaries and secondaries: who is the primary, and how another one becomes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/map_reach.h"
#include "orchestrator/decide/view.h"
#include "tests/orchestrator/roles/roles_fixture.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::_;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

TEST_F(RolesTest, TheFirstReplicaIsThePrimaryAndTheOthersComeIntoStepOneByOne) {
  EXPECT_THAT(world.Roles("s-0"), ElementsAre("kv-0*", "kv-1", "kv-2"));
  EXPECT_THAT(world.Published("s-0"), ElementsAre("kv-0*", "kv-1", "kv-2"));
  EXPECT_THAT(Stored(), ElementsAre("kv-0 granted primary 1", "kv-1 granted secondary 1",
                                    "kv-2 granted secondary 1"));
}

TEST_F(RolesTest, ALostPrimaryIsReplacedByASecondaryAtOnceAndNoDataMoves) {
  world.Die("kv-0");
  EXPECT_EQ(Primary(), "kv-1");
  EXPECT_THAT(world.commands, Contains("change-role s-0 kv-1"));
  world.Advance(Seconds(10));
  EXPECT_THAT(world.Roles("s-0"), ElementsAre("kv-1*", "kv-2", "kv-3"));
  EXPECT_THAT(world.Published("s-0"), ElementsAre("kv-1*", "kv-2", "kv-3"));
}

// All are new processes, so nobody is in step; the one that is the primary cannot load it.
TEST_F(RolesTest, APrimaryThatCannotBeAddedGivesWayToOneThatMayLackSomething) {
  world.servers["kv-0"].sick = true;
  world.hold_writes = true;  // nobody is promoted meanwhile
  for (const char* name : {"kv-1", "kv-2", "kv-0"}) world.Die(name);
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Join(name);
  world.servers["kv-0"].held.clear();
  world.hold_writes = false;
  while (!world.writes.empty()) world.FinishWrite(WriteOutcome::kOk);
  world.Advance(Seconds(60));
  EXPECT_THAT(Primary(), testing::AnyOf("kv-1", "kv-2", "kv-3"));
  EXPECT_EQ(world.Served(), 1u);
}

TEST_F(RolesTest, ThePromotionIsDurableBeforeAnybodyIsTold) {
  world.hold_writes = true;
  world.Die("kv-0");
  EXPECT_THAT(world.commands, IsEmpty());
  EXPECT_THAT(Write(), Contains("change-role s-0 kv-1"));
  EXPECT_THAT(Stored(), Contains("kv-0 granted secondary 0"));
  EXPECT_THAT(Stored(), Contains("kv-1 granted primary 1"));
}

TEST_F(RolesTest, APrimaryThatIsBackBeforeThePromotionIsWrittenKeepsItsRole) {
  world.hold_writes = true;
  world.Die("kv-0");
  world.Join("kv-0");
  Write();  // refused: it has registered again
  world.hold_writes = false;
  while (!world.writes.empty()) world.FinishWrite(WriteOutcome::kOk);
  world.Advance(Seconds(10));
  // Another life of it may lack what it acknowledged: one that never left takes over.
  EXPECT_EQ(Primary(), "kv-1");
  EXPECT_THAT(world.Roles("s-0"), SizeIs(3));
}

// Nobody can tell from its yes to the second grant, when the answer to the first was lost, by
// which members it goes: it has those of the first, and among them kv-2's former life.
TEST_F(RolesTest, APrimaryThatIsGrantedTheShardOnceMoreIsToldItsMembersAnew) {
  world.servers["kv-1"].heard = false;
  world.Die("kv-0");
  world.Advance(Milliseconds(100));
  ASSERT_EQ(Primary(), "kv-1");
  world.Die("kv-2");
  world.Join("kv-2");
  world.Advance(Seconds(1));
  world.servers["kv-1"].heard = true;
  world.Advance(Seconds(60));
  const uint64_t life = world.servers["kv-2"].incarnation.value();
  EXPECT_THAT(world.members["s-0"], Contains(std::pair(std::string("kv-2"), life)));
  world.Die("kv-1");
  world.Advance(Seconds(1));
  EXPECT_NE(Primary(), "");
}

TEST_F(RolesTest, OneThatIsNotInStepIsNotElected) {
  // kv-1 and kv-2 come back in another life, and the primary does not take them in.
  world.servers["kv-0"].refuses_members = true;
  for (const char* name : {"kv-1", "kv-2"}) {
    world.Die(name);
    world.Join(name);
  }
  world.Advance(Milliseconds(50));
  v1::AppSpec patient = spec;
  patient.mutable_failover()->set_delay_ms(10'000);
  world.Apply(patient);
  world.Die("kv-0");
  world.Advance(Seconds(5));
  EXPECT_EQ(Primary(), "");
  EXPECT_THAT(world.WaitsOf("s-0"), Contains(HasSubstr("no secondary is in step")));
  // When the lost one is given up, somebody has to: and it is said what that may cost.
  world.Advance(Seconds(6));
  EXPECT_NE(Primary(), "");
  EXPECT_THAT(world.notes, Contains(testing::Field(&Note::detail, HasSubstr("may lack"))));
}

// A new leader finds a demotion under way whose server has begun anew meanwhile. The members are
// alive, and have not said yet what they hold: whoever has nothing is not made the primary again.
TEST_F(RolesTest, ADemotedPrimaryThatBeganAnewDoesNotStayWhileAMemberIsAwaited) {
  BeginAnewInADemotion();
  for (const char* name : {"kv-1", "kv-2"}) world.servers[name].answers = false;
  world.Restart();
  world.Advance(Seconds(5));
  EXPECT_EQ(world.NoteCount(NoteKind::kUncleanPromotion), 0u);
  EXPECT_NE(Primary(), "kv-0");
  for (const char* name : {"kv-1", "kv-2"}) world.servers[name].answers = true;
  world.Advance(Seconds(30));
  EXPECT_THAT(Primary(), testing::AnyOf("kv-1", "kv-2"));
  EXPECT_EQ(world.NoteCount(NoteKind::kUncleanPromotion), 0u);
}

// Likewise, but the members serve, and the server fails to become a secondary.
TEST_F(RolesTest, ADemotedPrimaryThatBeganAnewAndCannotTurnMakesWay) {
  BeginAnewInADemotion();
  world.servers["kv-0"].stays_primary = true;
  world.Restart();
  world.Advance(Seconds(60));
  EXPECT_THAT(Primary(), testing::AnyOf("kv-1", "kv-2"));
}

// Clients ask the old primary for some seconds, and it sends on what they ask, until it is given
// the shard again.
TEST_F(RolesTest, TheOldPrimaryDoesNotGetTheShardWhileClientsMayAskIt) {
  const ServerIndex old_primary = world.partition().tables().FindServer("kv-0");
  EXPECT_THAT(Avoided(), Not(Contains(old_primary)));
  Drain("kv-0", /*primaries_only=*/true);
  world.Advance(Seconds(1));
  ASSERT_NE(Primary(), "kv-0");
  EXPECT_THAT(Avoided(), Contains(old_primary));
  world.Advance(Seconds(10));
  EXPECT_THAT(Avoided(), Not(Contains(old_primary)));
}

// The same of a change that a former leader began: the new one ends it, and the pause after it.
TEST_F(RolesTest, TheOldPrimaryOfAChangeThatAFormerLeaderBeganGetsTheShardAgainLater) {
  world.servers["kv-0"].answers = false;
  Drain("kv-0", /*primaries_only=*/true);
  world.Advance(Milliseconds(10));
  world.servers["kv-0"].answers = true;
  world.Restart();
  world.Advance(Seconds(1));
  ASSERT_NE(Primary(), "kv-0");
  const ServerIndex old_primary = world.partition().tables().FindServer("kv-0");
  EXPECT_THAT(Avoided(), Contains(old_primary));
  world.Advance(Seconds(10));
  EXPECT_THAT(Avoided(), Not(Contains(old_primary)));
}

TEST_F(RolesTest, ADrainTakesTheRoleAwayBeforeTheReplica) {
  world.hold_writes = true;
  Drain("kv-0", /*primaries_only=*/true);
  world.Advance(Milliseconds(1));
  EXPECT_THAT(Write(), ElementsAre("change-role s-0 kv-0"));
  EXPECT_THAT(Stored(), Contains("kv-0 demoting primary 1"));
  EXPECT_THAT(world.Published("s-0"), ElementsAre("kv-0*", "kv-1", "kv-2"));
  EXPECT_THAT(world.DrainState("kv-0"), Pair("draining", HasSubstr("with their primary here")));
  world.hold_adds = true;
  EXPECT_THAT(Write(), Contains("change-role s-0 kv-1"));
  EXPECT_THAT(Stored(), Contains("kv-0 granted secondary 1"));
  EXPECT_THAT(Stored(), Contains("kv-1 granted primary 1"));
  EXPECT_EQ(Primary(), "kv-1");
  world.hold_writes = false;
  world.Advance(Seconds(60));
  EXPECT_THAT(world.Roles("s-0"), ElementsAre("kv-0", "kv-1*", "kv-2"));
  EXPECT_THAT(world.DrainState("kv-0"), Pair("live", HasSubstr("no primaries left")));
}

// What the old primary sends on would meet one that is none any more: seed 5961.
TEST_F(RolesTest, APrimaryThatIsNewStaysUntilClientsKnowIt) {
  Drain("kv-0", /*primaries_only=*/true);
  world.Advance(Milliseconds(500));
  ASSERT_EQ(Primary(), "kv-1");
  world.ordered.drains.push_back(DrainOf("kv-1", /*primaries_only=*/true));
  world.Apply(spec);
  world.Advance(kClientsReturnWithin);
  EXPECT_EQ(Primary(), "kv-1");
  EXPECT_THAT(world.WaitsOf("s-0"), Contains(HasSubstr("its primary changed just now")));
  world.Advance(Seconds(1));
  EXPECT_EQ(Primary(), "kv-2");
}

TEST_F(RolesTest, APrimaryThatIsNewAndIsLostIsReplacedAtOnce) {
  Drain("kv-0", /*primaries_only=*/true);
  world.Advance(Milliseconds(500));
  world.Die("kv-1");
  world.Advance(Milliseconds(500));
  EXPECT_EQ(Primary(), "kv-2");
}

TEST_F(RolesTest, WhatADrainTellsServersOfRolesCarriesItsOperation) {
  std::map<std::string, std::set<std::string>> told;  // operations, by "command shard"
  world.watcher.asks = [&](const Action& action) {
    const auto* send = std::get_if<SendCommands>(&action);
    if (send == nullptr || send->kind != CommandKind::kChangeRole) return;
    for (const Grant& grant : send->grants) {
      told[world.Name(grant.shard)].insert(OperationOf(world.partition().state(), grant.shard));
    }
  };
  v1::Drain drain = DrainOf("kv-0", /*primaries_only=*/true);
  drain.set_operation("op-9");
  world.ordered.drains = {drain};
  world.Apply(spec);
  world.Advance(Seconds(60));
  EXPECT_THAT(told, Not(IsEmpty()));
  EXPECT_THAT(told, Each(Pair(_, ElementsAre("op-9"))));
}

TEST_F(RolesTest, ADrainedServerLosesItsReplicasToo) {
  Drain("kv-0");
  world.Advance(Seconds(60));
  EXPECT_THAT(world.Roles("s-0"), ElementsAre("kv-1*", "kv-2", "kv-3"));
  EXPECT_THAT(Stored(), ElementsAre("kv-1 granted primary 1", "kv-2 granted secondary 1",
                                    "kv-3 granted secondary 1"));
}

TEST_F(RolesTest, ADemotionThatFailsIsCalledOffUnderANewGrant) {
  const ShardEpoch before = world.servers["kv-0"].held["s-0"].epoch;
  world.servers["kv-0"].stays_primary = true;
  Drain("kv-0", /*primaries_only=*/true);
  EXPECT_THAT(Stored(), Contains("kv-0 demoting primary 1"));
  world.hold_writes = true;
  world.Advance(Milliseconds(400));
  Write();
  EXPECT_THAT(Stored(), Contains("kv-0 granted primary 1"));
  EXPECT_EQ(Primary(), "kv-0");
  EXPECT_GT(world.servers["kv-0"].held["s-0"].epoch, before);
  world.servers["kv-0"].stays_primary = false;
  world.hold_writes = false;
  while (!world.writes.empty()) world.FinishWrite(WriteOutcome::kOk);
  world.Advance(Seconds(60));
  EXPECT_EQ(Primary(), "kv-1");
}

// Finding 4 of the attack, of an app with both roles: three times in a row, again and again, it was
// closed for as long as its requests were waited for.
TEST_F(RolesTest, ADemotionThatRequestsHoldUpIsCalledOffAtOnceAndTriedAtGrowingIntervals) {
  world.servers["kv-0"].cannot_let_go = true;
  const auto turns = [&] {
    const std::vector<std::string> commands = std::exchange(world.commands, {});
    return std::count(commands.begin(), commands.end(), "change-role s-0 kv-0");
  };
  const ShardEpoch before = EpochAt("kv-0");
  Drain("kv-0", /*primaries_only=*/true);
  world.Advance(Seconds(30));
  EXPECT_EQ(turns(), 1);
  EXPECT_EQ(Primary(), "kv-0");
  EXPECT_EQ(EpochAt("kv-0"), before) << "a new grant would wait for requests, too";
  EXPECT_EQ(world.NoteCount(NoteKind::kMoveCalledOff), 1u);
  EXPECT_THAT(world.WaitsOf("s-0"),
              Contains(HasSubstr("its last move was called off, as requests in flight")));
  world.Advance(Seconds(60));
  EXPECT_EQ(turns(), 1);
  world.Advance(Seconds(80));
  EXPECT_EQ(turns(), 0);
  world.servers["kv-0"].cannot_let_go = false;
  world.Advance(Seconds(60));
  EXPECT_EQ(Primary(), "kv-1");
  EXPECT_THAT(world.WaitsOf("s-0"), IsEmpty());
}

// One of an older library.
TEST_F(RolesTest, AServerThatDoesNotSayUnderWhichGrantItServesOnIsGrantedItAnew) {
  const ShardEpoch before = EpochAt("kv-0");
  world.servers["kv-0"].cannot_let_go = true;
  world.servers["kv-0"].tells_epoch = false;
  Drain("kv-0", /*primaries_only=*/true);
  world.Advance(Seconds(30));
  EXPECT_EQ(Primary(), "kv-0");
  EXPECT_GT(EpochAt("kv-0"), before);
}

TEST_F(RolesTest, ASuccessorHearsUnderWhichGrantADemotionIsCalledOff) {
  const ShardEpoch before = EpochAt("kv-0");
  world.servers["kv-0"].cannot_let_go = true;
  world.hold_writes = true;
  Drain("kv-0", /*primaries_only=*/true);
  Write();
  EXPECT_THAT(Stored(), Contains("kv-0 demoting primary 1"));
  world.writes.clear();  // what else it wrote is lost with the leader
  world.hold_writes = false;
  world.Restart();
  world.Advance(Seconds(5));
  EXPECT_THAT(Stored(), Contains("kv-0 granted primary 1"));
  EXPECT_EQ(EpochAt("kv-0"), before);
}

TEST_F(RolesTest, AServerThatBeginsAnewAfterACalledOffDemotionIsReplacedAtOnce) {
  world.servers["kv-0"].cannot_let_go = true;
  Drain("kv-0", /*primaries_only=*/true);
  world.Advance(Seconds(10));
  world.servers["kv-0"].cannot_let_go = false;
  world.Die("kv-0");
  world.Join("kv-0");
  world.servers["kv-0"].held.clear();
  world.Advance(Seconds(1));
  EXPECT_EQ(Primary(), "kv-1");
}

TEST_F(RolesTest, APrimaryThatIsLostWhileItIsDemotedIsReplacedAtOnce) {
  world.hold_writes = true;
  Drain("kv-0", /*primaries_only=*/true);
  world.Advance(Milliseconds(1));
  world.servers["kv-0"].answers = false;
  Write();
  world.Die("kv-0");
  world.hold_writes = false;
  while (!world.writes.empty()) world.FinishWrite(WriteOutcome::kOk);
  EXPECT_EQ(Primary(), "kv-1");
}

TEST_F(RolesTest, ASuccessorOfTheLeaderGoesOnWithADemotion) {
  world.hold_writes = true;
  Drain("kv-0", /*primaries_only=*/true);
  world.Advance(Milliseconds(1));
  world.servers["kv-0"].answers = false;
  Write();
  world.servers["kv-0"].answers = true;
  world.hold_writes = false;
  world.Restart();
  world.Advance(Seconds(30));
  EXPECT_EQ(Primary(), "kv-1");
  EXPECT_THAT(world.Roles("s-0"), SizeIs(3));
}

TEST_F(RolesTest, ASecondaryIsDroppedOnlyWhenThePrimaryCountsOnItNoMore) {
  LeaveKv2AMemberForThePrimary();
  world.Advance(Seconds(3));
  EXPECT_THAT(world.commands, Not(Contains("drop s-0 kv-2")));
  TakeAnyMembers();
  world.Advance(Seconds(60));
  EXPECT_THAT(world.commands, Contains("drop s-0 kv-2"));
  EXPECT_THAT(world.Roles("s-0"), ElementsAre("kv-0*", "kv-1", "kv-3"));
}

// Else what was admitted before could not be acknowledged, for nobody copies it to that one
// (simulation, seed 19462).
TEST_F(RolesTest, ASecondaryIsDroppedOnlyWhenAPrimaryThatTurnsHasStopped) {
  LeaveKv2AMemberForThePrimary();
  world.servers["kv-0"].answers = false;
  world.ordered.drains.push_back(DrainOf("kv-0", /*primaries_only=*/true));
  world.Apply(spec);
  world.Advance(Milliseconds(10));
  ASSERT_THAT(Stored(), Contains("kv-0 demoting primary 1"));
  EXPECT_THAT(world.commands, Not(Contains("drop s-0 kv-2")));
  world.servers["kv-0"].answers = true;
  TakeAnyMembers();
  world.Advance(Seconds(60));
  EXPECT_THAT(world.commands, Contains("drop s-0 kv-2"));
  EXPECT_EQ(Primary(), "kv-1");
}

// The primary serves on by the members that a former leader told it.
TEST_F(RolesTest, ANewLeaderDropsASecondaryOnlyWhenThePrimaryHasAnsweredIt) {
  LeaveKv2AMemberForThePrimary();
  TakeAnyMembers();
  world.servers["kv-0"].answers = false;
  world.Restart();
  world.Advance(Milliseconds(500));
  EXPECT_THAT(world.commands, Not(Contains("drop s-0 kv-2")));
  world.servers["kv-0"].answers = true;
  world.Advance(Seconds(60));
  EXPECT_THAT(world.commands, Contains("drop s-0 kv-2"));
  EXPECT_EQ(Primary(), "kv-0");
}

TEST_F(RolesTest, AStrategyThatHasNoPrimariesOrNoSecondariesIsReachedAndLeft) {
  world.Apply(TestSpec(1, v1::SECONDARY_ONLY, 3));
  world.Advance(Seconds(30));
  EXPECT_EQ(Primary(), "");
  EXPECT_THAT(world.Published("s-0"), SizeIs(3));
  world.Apply(spec);
  world.Advance(Seconds(30));
  EXPECT_NE(Primary(), "");
  EXPECT_THAT(world.Published("s-0"), SizeIs(3));
  world.Apply(TestSpec(1));
  world.Advance(Seconds(30));
  EXPECT_THAT(world.Roles("s-0"), ElementsAre(Primary() + "*"));
  world.Apply(spec);
  world.Advance(Seconds(30));
  EXPECT_THAT(world.Published("s-0"), SizeIs(3));
}

TEST_F(RolesTest, APromotionThatFailsGoesToAnother) {
  world.servers["kv-1"].refuses = {"s-0"};
  world.Die("kv-0");
  world.Advance(Seconds(30));
  EXPECT_NE(Primary(), "kv-1");
  EXPECT_NE(Primary(), "");
}

// Those that are about to change count as changed: else two change for one that is too many, and
// both back again.
TEST(RolesBalanceTest, PrimariesThatCannotChangeYetAreNotReplacedByOthers) {
  v1::AppSpec spec = Both(2, 2);
  spec.mutable_moves()->set_balance_interval_ms(1'000);
  World world(spec);
  world.Start();
  world.Join("kv-0");
  world.Join("kv-1");
  for (const char* drained : {"kv-0", "kv-1"}) {
    world.Advance(Seconds(60));
    world.ordered.drains = {DrainOf(drained, /*primaries_only=*/true)};
    world.Apply(spec);
  }
  world.Advance(Milliseconds(500));
  ASSERT_THAT(world.Roles("s-0"), ElementsAre("kv-0*", "kv-1"));
  ASSERT_THAT(world.Roles("s-1"), ElementsAre("kv-0*", "kv-1"));
  world.ordered.drains.clear();
  world.Apply(spec);
  world.Advance(Seconds(60));
  world.commands.clear();
  world.Advance(Seconds(300));
  EXPECT_THAT(world.commands, testing::Not(Contains(HasSubstr("change-role"))));
}

TEST(RolesBalanceTest, PrimariesAreSpreadEvenlyWithoutAMoveOfReplicas) {
  World world(Both(30, 2));
  world.Start();
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Join(name);
  world.Advance(Seconds(60));
  world.Die("kv-0");
  world.Join("kv-0");
  world.Advance(Seconds(120));
  std::map<std::string, int> primaries;
  for (int i = 0; i < 30; ++i) {
    for (const std::string& name : world.Roles(absl::StrCat("s-", i))) {
      primaries[name.substr(0, 4)] += name.ends_with("*");
    }
  }
  for (const auto& [name, count] : primaries) EXPECT_NEAR(count, 10, 1) << name;
  EXPECT_EQ(world.Served(), 30u);
}

// The successor was chosen when the change began.
TEST_F(RolesTest, AServerThatIsDrainedDuringTheChangeIsNotTheSuccessor) {
  world.servers["kv-0"].answers = false;
  Drain("kv-0", /*primaries_only=*/true);
  world.Advance(Milliseconds(10));
  ASSERT_THAT(Stored(), Contains("kv-0 demoting primary 1"));
  world.ordered.drains.push_back(DrainOf("kv-1", /*primaries_only=*/true));
  world.Apply(spec);
  world.servers["kv-0"].answers = true;
  world.Advance(Seconds(60));
  EXPECT_EQ(Primary(), "kv-2");
  EXPECT_THAT(world.commands, Not(Contains("change-role s-0 kv-1")));
}

// Else whoever waits for the drain stops a server that is the primary a moment later.
TEST_F(RolesTest, AServerIsNotDrainedOfPrimariesWhileOneIsAboutToBeThere) {
  world.hold_writes = true;
  Drain("kv-0", /*primaries_only=*/true);
  world.ordered.drains.push_back(DrainOf("kv-1", /*primaries_only=*/true));
  EXPECT_THAT(world.DrainState("kv-2"), Pair("live", ""));
  world.FinishWrite(WriteOutcome::kOk);  // kv-0 is to be a secondary, and is at once
  world.Apply(spec);
  EXPECT_THAT(world.DrainState("kv-1"),
              Pair("draining", HasSubstr("1 shard with their primary here")));
  world.hold_writes = false;
  while (!world.writes.empty()) world.FinishWrite(WriteOutcome::kOk);
  world.Advance(Seconds(60));
  EXPECT_EQ(Primary(), "kv-2");
  EXPECT_THAT(world.DrainState("kv-1"), Pair("live", HasSubstr("no primaries left")));
}

TEST(PrimaryDrainTest, ASecondaryThatIsBeingPlacedIsNoPrimaryToBe) {
  World world(Both(1, 2));
  world.ordered.drains = {DrainOf("kv-1", /*primaries_only=*/true)};
  world.servers["kv-0"].answers = false;  // it has the role, and does not say that it serves
  world.Start();
  world.hold_writes = true;
  for (const char* name : {"kv-0", "kv-1"}) world.Join(name);
  world.Gather();
  world.FinishWrite(WriteOutcome::kOk);
  ASSERT_THAT(world.writes, SizeIs(1)) << "the secondary is placed";
  EXPECT_THAT(world.DrainState("kv-1"), Pair("live", HasSubstr("no primaries left")));
}

TEST_F(RolesTest, AServerIsNotDrainedOfPrimariesWhileItIsTheBestSuccessor) {
  world.servers["kv-0"].answers = false;
  Drain("kv-0", /*primaries_only=*/true);
  world.Advance(Milliseconds(10));
  ASSERT_THAT(Stored(), Contains("kv-0 demoting primary 1"));
  for (const char* name : {"kv-1", "kv-2"}) {
    world.ordered.drains.push_back(DrainOf(name, /*primaries_only=*/true));
  }
  world.Apply(spec);
  EXPECT_THAT(world.DrainState("kv-1"), Pair("draining", HasSubstr("1 shard ")));
  EXPECT_THAT(world.DrainState("kv-2"), Pair("live", HasSubstr("no primaries left")));
}

TEST_F(RolesTest, AChangeOfPrimaryForADrainWaitsForTheLimitOfDrains) {
  v1::AppSpec strict = Both(4, 3);
  strict.mutable_moves()->mutable_drain()->set_max_concurrent(1);
  world.Apply(strict);
  world.Advance(Seconds(60));
  for (int i = 0; i < 4; ++i) world.servers["kv-0"].refuses.insert(absl::StrCat("s-", i));
  world.servers["kv-0"].stays_primary = true;
  world.ordered.drains = {DrainOf("kv-0", /*primaries_only=*/true), DrainOf("kv-1", true)};
  world.hold_writes = true;
  world.Apply(strict);
  std::string waits;
  for (int i = 0; i < 4; ++i) {
    for (const std::string& wait : world.WaitsOf(absl::StrCat("s-", i))) waits += wait + "\n";
  }
  EXPECT_THAT(waits, HasSubstr("another primary is wanted; moves.drain.max_concurrent: all 1 "));
}

}  // namespace
}  // namespace shardmanager::orchestrator
