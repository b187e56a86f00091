// Drains: servers are emptied, and given nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::Pair;

v1::Drain DrainOfServer(const std::string& server) {
  v1::Drain drain;
  drain.mutable_scope()->set_server(server);
  return drain;
}

v1::Drain DrainOfRegion(const std::string& region) {
  v1::Drain drain;
  drain.mutable_scope()->mutable_domain()->set_region(region);
  return drain;
}

v1::Drain DrainOfDomain(const FaultDomain& at) {
  v1::Drain drain = DrainOfRegion(at.region);
  drain.mutable_scope()->mutable_domain()->set_datacenter(at.datacenter);
  drain.mutable_scope()->mutable_domain()->set_rack(at.rack);
  return drain;
}

// Three servers with four shards each.
class DrainsTest : public ::testing::Test {
 protected:
  DrainsTest() {
    world.Start();
    for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Join(name);
    world.Advance(Seconds(30));
    EXPECT_EQ(world.Served(), 12u);
    world.notes.clear();
    world.commands.clear();
  }
  void Drain(std::vector<v1::Drain> drains) {
    world.ordered.drains = std::move(drains);
    world.Apply(spec);
  }

  const v1::AppSpec spec = TestSpec(12);
  World world{spec};
};

TEST_F(DrainsTest, WhatFollowsFromADrainCarriesItsOperation) {
  v1::Drain drain = DrainOfServer("kv-0");
  drain.set_operation("op-7");
  world.notes.clear();
  world.ordered.drains = {drain};
  world.Apply(TestSpec(12));
  world.Advance(Seconds(30));
  std::map<NoteKind, int> told;
  for (const Note& note : world.notes) told[note.kind] += note.operation == "op-7";
  EXPECT_EQ(told[NoteKind::kDrainStarted], 1);
  EXPECT_EQ(told[NoteKind::kMoveStarted], 4);
  EXPECT_EQ(told[NoteKind::kMoveFinished], 4);
  EXPECT_EQ(told[NoteKind::kDrained], 1);
}

TEST_F(DrainsTest, EmptiesTheServerAndSaysHowFarItIs) {
  v1::Drain drain = DrainOfServer("kv-1");
  drain.set_reason("new disk");
  world.hold_plans = true;
  Drain({drain});
  EXPECT_THAT(world.DrainState("kv-1"), Pair("draining", "4 of 4 replicas left (new disk)"));
  EXPECT_THAT(world.DrainState("kv-0"), Pair("live", ""));
  world.hold_plans = false;
  world.FinishPlan();
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Served(), 12u);
  EXPECT_EQ(world.Counts(), (std::map<std::string, size_t>{{"kv-0", 6}, {"kv-1", 0}, {"kv-2", 6}}));
  EXPECT_THAT(world.DrainState("kv-1"), Pair("drained", "empty (new disk)"));
  EXPECT_EQ(world.NoteCount(NoteKind::kDrainStarted), 1u);
  EXPECT_EQ(world.NoteCount(NoteKind::kDrained), 1u);
}

TEST_F(DrainsTest, TakenBackItIsUsedAgain) {
  Drain({DrainOfServer("kv-1")});
  world.Advance(Seconds(60));
  Drain({});
  EXPECT_THAT(world.DrainState("kv-1"), Pair("live", ""));
  world.Advance(Seconds(120));
  EXPECT_EQ(world.Counts().at("kv-1"), 4u);
  EXPECT_EQ(world.NoteCount(NoteKind::kDrainEnded), 1u);
}

// F10: shards were assigned to a server that was draining.
TEST_F(DrainsTest, F10_NothingIsGivenToAServerThatIsDraining) {
  Drain({DrainOfServer("kv-1")});
  world.Advance(Seconds(60));
  world.commands.clear();
  world.Apply(TestSpec(30));
  world.Die("kv-0");
  world.Advance(Seconds(120));
  EXPECT_EQ(world.Served(), 30u);
  EXPECT_THAT(world.commands, Not(IsEmpty()));
  EXPECT_THAT(world.commands, Each(Not(EndsWith(" kv-1")))) << "nothing at all is asked of it";
}

// A plan that was made before the drain comes back after it.
TEST_F(DrainsTest, F10_APlanFromBeforeTheDrainPutsNothingThere) {
  world.hold_plans = true;
  world.Die("kv-0");
  ASSERT_EQ(world.plans.size(), 1u);
  Drain({DrainOfServer("kv-1")});
  world.commands.clear();
  world.hold_plans = false;
  while (!world.plans.empty()) world.FinishPlan();
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Served(), 12u);
  EXPECT_EQ(world.Counts().at("kv-2"), 12u);
  EXPECT_THAT(world.commands, Each(Not(MatchesRegex("add .* kv-1"))));
}

TEST_F(DrainsTest, AFaultDomainsDrainIsForThoseWhoJoinLaterToo) {
  Drain({DrainOfRegion("r2")});
  world.Join("kv-9", "r2");
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Counts().at("kv-9"), 0u);
  EXPECT_THAT(world.DrainState("kv-9"), Pair("drained", "empty"));
}

// Names of racks and datacenters repeat: each stands for itself only within what is around it.
class DomainDrainTest : public ::testing::Test {
 protected:
  DomainDrainTest() {
    world.Start();
    for (const auto& [name, at] : servers) world.JoinAt(name, at);
    world.Advance(Seconds(30));
    EXPECT_EQ(world.Served(), 12u);
  }
  // Names of the servers that are empty in the end.
  std::set<std::string> EmptiedBy(const FaultDomain& at) {
    world.ordered.drains = {DrainOfDomain(at)};
    world.Apply(TestSpec(12));
    world.Advance(Seconds(60));
    EXPECT_EQ(world.Served(), 12u);
    std::set<std::string> empty;
    for (const auto& [name, replicas] : world.Counts()) {
      const std::string state = replicas == 0 ? "drained" : "live";
      EXPECT_EQ(world.DrainState(name).first, state) << name;
      if (replicas == 0) empty.insert(name);
    }
    return empty;
  }

  const std::map<std::string, FaultDomain> servers = {
      {"kv-0", {"r1", "d1", "k1"}}, {"kv-1", {"r1", "d1", "k1"}}, {"kv-2", {"r1", "d1", "k2"}},
      {"kv-3", {"r1", "d2", "k1"}}, {"kv-4", {"r2", "d1", "k1"}}, {"kv-5", {"r2", "d2", "k2"}}};
  World world{TestSpec(12)};
};

TEST_F(DomainDrainTest, ARackIsEmptiedAndItsNeighboursAreNot) {
  EXPECT_THAT(EmptiedBy({"r1", "d1", "k1"}), ElementsAre("kv-0", "kv-1"));
}

TEST_F(DomainDrainTest, ADatacenterIsEmptiedAndItsNeighboursAreNot) {
  EXPECT_THAT(EmptiedBy({"r1", "d1", ""}), ElementsAre("kv-0", "kv-1", "kv-2"));
}

TEST_F(DomainDrainTest, ARegionIsEmptiedAndItsNeighbourIsNot) {
  EXPECT_THAT(EmptiedBy({"r1", "", ""}), ElementsAre("kv-0", "kv-1", "kv-2", "kv-3"));
}

TEST_F(DomainDrainTest, AServerThatComesBackInAnotherRackIsUsedAgain) {
  EXPECT_THAT(EmptiedBy({"r1", "d1", "k2"}), ElementsAre("kv-2"));
  world.Depart("kv-2");
  world.JoinAt("kv-2", {"r1", "d1", "k3"});
  EXPECT_EQ(world.DrainState("kv-2").first, "live");
}

TEST_F(DrainsTest, ASuccessorGoesOn) {
  world.hold_plans = true;
  Drain({DrainOfServer("kv-1")});
  world.hold_plans = false;
  world.Restart();
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Counts().at("kv-1"), 0u);
  EXPECT_EQ(world.Served(), 12u);
}

TEST_F(DrainsTest, TheSameSpecWithOtherDrainsIsNoNewSpec) {
  Drain({DrainOfServer("kv-1")});
  EXPECT_EQ(world.NoteCount(NoteKind::kSpecApplied), 0u);
}

// A plan that is made while the budget of a server is used up finds nothing for it; that
// must not be the last word.
TEST(MoveBudgetTest, WhatThePlanCouldNotMoveYetIsMovedOnceTheBudgetIsFree) {
  v1::AppSpec spec = TestSpec(6);
  spec.mutable_moves()->set_max_concurrent_per_server(5);
  World world(spec);
  world.Start();
  world.Join("kv-1");
  world.Gather();
  world.Join("kv-2", "r1");
  world.ordered.drains = {DrainOfServer("kv-2")};
  world.Apply(spec);
  world.Advance(Seconds(10));
  ASSERT_EQ(world.Counts().at("kv-1"), 6u);
  world.Advance(Seconds(10));
  world.hold_adds = true;
  world.ordered.drains = {DrainOfServer("kv-1")};
  world.Apply(spec);
  world.Advance(Seconds(60));
  ASSERT_EQ(world.Counts().at("kv-1"), 1u) << "five are on their way";
  world.hold_adds = false;
  world.FinishAdds();
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Counts(), (std::map<std::string, size_t>{{"kv-1", 0}, {"kv-2", 6}}));
}

// What an operator orders outranks what the spec prefers.
TEST(OrderedDrainTest, OutranksTheSpreadOverRegions) {
  World world(TestSpec(6, v1::SECONDARY_ONLY, 3));
  world.Start();
  world.Join("kv-0", "r0");
  world.Join("kv-1", "r1");
  world.Join("kv-2", "r2");
  world.Join("kv-3", "r0");
  world.Advance(Seconds(60));
  ASSERT_EQ(world.Counts().at("kv-1"), 6u) << "one replica of each shard in each region";
  world.ordered.drains = {DrainOfServer("kv-1")};
  world.Apply(TestSpec(6, v1::SECONDARY_ONLY, 3));
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Counts().at("kv-1"), 0u);
  EXPECT_EQ(world.Served(), 6u);
}

TEST(OrderedDrainTest, OutranksThePreferredRegion) {
  v1::AppSpec spec = TestSpec(6);
  spec.mutable_placement()->set_preferred_region("r1");
  World world(spec);
  world.Start();
  world.Join("kv-0", "r0");
  world.Join("kv-1", "r1");
  world.Advance(Seconds(60));
  ASSERT_EQ(world.Counts().at("kv-1"), 6u);
  world.notes.clear();
  world.ordered.drains = {DrainOfRegion("r1")};
  world.Apply(spec);
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Counts().at("kv-1"), 0u);
  EXPECT_EQ(world.Served(), 6u);
  for (const Note& note : world.notes) {
    if (note.kind != NoteKind::kMoveStarted) continue;
    EXPECT_THAT(note.detail, HasSubstr("its server is to be emptied"));
  }
  world.ordered.drains.clear();
  world.Apply(spec);
  world.Advance(Seconds(120));
  EXPECT_EQ(world.Counts().at("kv-1"), 6u) << "back, once it may be used again";
}

// F13: one impossible drain starved every other operation.
TEST(ImpossibleDrainTest, F13_SaysWhyAndStarvesNobody) {
  World world(TestSpec(12));
  world.Start();
  world.Join("kv-0", "r1", 6);
  world.Join("kv-1", "r1", 6);
  world.Advance(Seconds(30));
  world.ordered.drains = {DrainOfServer("kv-0")};
  world.Apply(TestSpec(12));
  world.Advance(Seconds(60));
  EXPECT_THAT(world.DrainState("kv-0"),
              Pair("draining", HasSubstr("6 of 6 replicas left, and no other server can take them: "
                                         "see `shardctl explain kv s-")));
  EXPECT_EQ(world.Served(), 12u) << "what cannot move stays and serves";
  const std::string stuck = world.servers.at("kv-0").held.begin()->first;
  EXPECT_THAT(world.WaitsOf(stuck),
              ElementsAre(HasSubstr("kv-0 is to be emptied, and the last plan found no other")));
  world.Join("kv-2", "r1", 2);
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Counts().at("kv-0"), 4u) << "as many as there is room for";
  world.Join("kv-3", "r1", 12);
  world.Die("kv-1");
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Counts().at("kv-0"), 0u);
  EXPECT_EQ(world.Served(), 12u);
}

TEST(PrimariesOnlyTest, LeavesAnAppOfSecondariesAlone) {
  World world(TestSpec(6, v1::SECONDARY_ONLY, 2));
  world.Start();
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Join(name);
  world.Advance(Seconds(30));
  world.ordered.drains = {DrainOfServer("kv-0")};
  world.ordered.drains[0].set_primaries_only(true);
  world.Apply(TestSpec(6, v1::SECONDARY_ONLY, 2));
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Counts().at("kv-0"), 4u);
  world.ordered.drains[0].set_primaries_only(false);
  world.Apply(TestSpec(6, v1::SECONDARY_ONLY, 2));
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Counts().at("kv-0"), 0u);
  EXPECT_EQ(world.Served(), 6u);
}

}  // namespace
}  // namespace shardmanager::orchestrator
