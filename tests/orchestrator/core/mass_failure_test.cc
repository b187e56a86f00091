// Very many servers are lost at once; and what is restored first when not all can be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "orchestrator/describe/status.h"
#include "orchestrator/describe/waits.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

v1::AppSpec Spec(v1::ReplicationStrategy strategy, uint32_t replicas, const std::string& servers) {
  v1::AppSpec spec = TestSpec(40, strategy, replicas);
  spec.mutable_failover()->set_delay_ms(10'000);
  v1::MassFailurePolicy& policy = *spec.mutable_failover()->mutable_mass_failure();
  policy.set_servers(servers);
  policy.set_max_concurrent(2);
  policy.set_patience_ms(600'000);
  return WithDefaults(spec);
}

// Five servers in r0 and five in r1.
class MassFailureTest : public ::testing::Test {
 protected:
  void Start(const v1::AppSpec& spec) {
    world_.emplace(spec);
    world().Start();
    for (int i = 0; i < 10; ++i) Join(i);
    world().Advance(Seconds(120));
    world().notes.clear();
  }
  static std::string Name(int server) { return absl::StrCat("kv-", server); }
  void Join(int server) { world().Join(Name(server), absl::StrCat("r", server / 5)); }
  void Lose(int first, int last) {
    for (int i = first; i <= last; ++i) world().Die(Name(i));
  }
  // What is said of a mass failure; empty: there is none.
  std::string Condition() {
    const v1::AppStatus app = DescribeApp(world().partition().state(), world().now);
    for (const std::string& condition : app.conditions()) {
      if (condition.find("mass failure") != std::string::npos) return condition;
    }
    return "";
  }
  // Lets one server after the other finish.
  void FinishAdds() {
    for (int i = 0; i < 200 && !world().adds.empty(); ++i) {
      world().FinishAdds();
      world().Advance(Milliseconds(10));
    }
  }
  World& world() { return *world_; }

  std::optional<World> world_;
};

TEST_F(MassFailureTest, BeginsWhenSoManyAreLostAndEndsWhenTheyAreBack) {
  Start(Spec(v1::PRIMARY_ONLY, 1, "40%"));
  Lose(0, 2);
  EXPECT_EQ(Condition(), "") << "3 of 10";
  Lose(3, 3);
  world().Advance(Seconds(2));
  EXPECT_EQ(Condition(),
            "a mass failure (failover.mass_failure) since 2 s: 4 of 10 servers are lost; at most 2 "
            "replicas in failover at once");
  EXPECT_EQ(world().NoteCount(NoteKind::kMassFailure), 1u);
  for (int i = 0; i < 4; ++i) Join(i);
  world().Advance(MissingShards::kTick);
  EXPECT_EQ(Condition(), "");
  EXPECT_EQ(world().NoteCount(NoteKind::kMassFailureOver), 1u);
}

TEST_F(MassFailureTest, ServersThatSaidGoodByeAndASingleOneAreNone) {
  Start(Spec(v1::PRIMARY_ONLY, 1, "1"));
  Lose(0, 0);
  EXPECT_EQ(Condition(), "");
  for (int i = 1; i < 5; ++i) world().Depart(Name(i));
  world().Advance(Seconds(1));
  EXPECT_EQ(Condition(), "");
  EXPECT_EQ(world().NoteCount(NoteKind::kMassFailure), 0u);
}

TEST_F(MassFailureTest, RestoresAFewReplicasAtATimeAndThenIsOver) {
  Start(Spec(v1::PRIMARY_ONLY, 1, "40%"));
  world().hold_adds = true;
  Lose(0, 3);
  world().Advance(Seconds(11));
  EXPECT_THAT(world().adds, SizeIs(2));
  EXPECT_THAT(WaitsOfAll(world()),
              HasSubstr("failover.mass_failure.max_concurrent: 2 of 2 replicas"));
  FinishAdds();
  EXPECT_EQ(HeldByAll(world()), 40u);
  world().Advance(MissingShards::kTick);
  EXPECT_EQ(world().NoteCount(NoteKind::kMassFailureOver), 1u);
}

TEST_F(MassFailureTest, NothingIsMovedForBalanceMeanwhile) {
  for (const bool careful : {true, false}) {
    v1::AppSpec spec = Spec(v1::PRIMARY_ONLY, 1, "40%");
    if (!careful) spec.mutable_failover()->clear_mass_failure();
    spec.mutable_failover()->set_delay_ms(3'600'000);
    Start(spec);
    Lose(0, 3);
    world().Join("kv-10", "r1");
    world().Advance(Seconds(60));
    EXPECT_EQ(world().NoteCount(NoteKind::kMoveStarted) == 0, careful);
    const std::string held = "moves that only balance wait for the end of the mass failure";
    const std::string said = BalanceState(world().partition().state(), world().now);
    EXPECT_EQ(said.find(held) != std::string::npos, careful) << said;
  }
}

TEST_F(MassFailureTest, APolicyThatComesLateHoldsAtOnce) {
  v1::AppSpec spec = Spec(v1::PRIMARY_ONLY, 1, "40%");
  v1::AppSpec without = spec;
  without.mutable_failover()->clear_mass_failure();
  Start(without);
  world().hold_adds = true;
  Lose(0, 3);
  world().Advance(Milliseconds(9'900));
  world().Apply(spec);
  EXPECT_NE(Condition(), "");
  world().Advance(Seconds(2));
  EXPECT_THAT(world().adds, SizeIs(2));
}

TEST_F(MassFailureTest, APlanThatWasOutMovesNothingForBalanceEither) {
  Start(Spec(v1::PRIMARY_ONLY, 1, "40%"));
  world().hold_plans = true;
  world().Join("kv-10", "r1");
  world().Advance(Seconds(1));
  ASSERT_THAT(world().plans, SizeIs(1));
  Lose(0, 3);
  world().hold_plans = false;
  world().FinishPlan();
  world().Advance(Seconds(5));
  EXPECT_EQ(world().NoteCount(NoteKind::kMoveStarted), 0u);
}

TEST_F(MassFailureTest, WhatAPlanProposedBeforeItIsNotBegun) {
  v1::AppSpec spec = Spec(v1::PRIMARY_ONLY, 1, "40%");
  Start(spec);
  world().hold_plans = world().hold_writes = true;
  world().Join("kv-10", "r1");
  world().Advance(Seconds(1));
  ASSERT_THAT(world().plans, SizeIs(1));
  spec.mutable_key_space()->mutable_shards()->RemoveLast();
  world().Apply(spec);
  ASSERT_THAT(world().writes, SizeIs(1)) << "moves wait for it";
  world().FinishPlan();
  ASSERT_GT(world().NoteCount(NoteKind::kMoveStarted), 0u);
  Lose(0, 3);
  world().hold_writes = false;
  while (!world().writes.empty()) world().FinishWrite(WriteOutcome::kOk);
  world().Advance(Seconds(1));
  EXPECT_THAT(world().servers.at("kv-10").record, SizeIs(0));
}

TEST_F(MassFailureTest, AnEmptyPlanOfItSaysNothingAboutTheBalanceAfterIt) {
  v1::AppSpec spec = Spec(v1::PRIMARY_SECONDARY, 2, "40%");
  spec.mutable_placement()->set_spread(v1::REGION);
  Start(spec);
  Lose(0, 4);
  world().Advance(Seconds(11));  // all primaries are in r1
  world().hold_plans = true;
  for (int i = 0; i < 5; ++i) Join(i);
  world().Advance(Seconds(1));
  ASSERT_NE(Condition(), "");
  ASSERT_THAT(world().plans, SizeIs(1));
  world().Advance(MissingShards::kTick);
  ASSERT_EQ(Condition(), "");
  world().notes.clear();
  world().FinishPlan();
  EXPECT_EQ(world().NoteCount(NoteKind::kPrimaryElected), 0u) << "nobody has looked yet";
}

TEST_F(MassFailureTest, WithAQuorumPatienceIsNotWhatShardsWaitFor) {
  v1::AppSpec spec = Spec(v1::PRIMARY_SECONDARY, 3, "40%");
  spec.mutable_replication()->set_quorum(true);
  Start(spec);
  Lose(0, 1);
  Lose(5, 6);
  world().Advance(Seconds(60));
  EXPECT_THAT(WaitsOfAll(world()), HasSubstr("less than a majority of its members serve"));
  EXPECT_THAT(Condition(), Not(HasSubstr("patience_ms")));
}

TEST_F(MassFailureTest, TheLimitThatHoldsIsNamed) {
  v1::AppSpec spec = Spec(v1::PRIMARY_ONLY, 1, "40%");
  spec.mutable_failover()->set_max_concurrent(1);
  Start(spec);
  world().hold_adds = true;
  Lose(0, 3);
  world().Advance(Seconds(11));
  EXPECT_THAT(WaitsOfAll(world()), HasSubstr("failover.max_concurrent: 1 of 1 replicas"));
}

TEST_F(MassFailureTest, ASuccessorGoesOnWithIt) {
  Start(Spec(v1::PRIMARY_ONLY, 1, "40%"));
  world().hold_adds = true;
  Lose(0, 3);
  world().Restart();
  world().Advance(Seconds(11));
  EXPECT_THAT(world().adds, SizeIs(2));
  EXPECT_THAT(Condition(), HasSubstr("4 of 10 servers are lost"));
}

TEST_F(MassFailureTest, WithoutThePolicyInANewSpecItEnds) {
  v1::AppSpec spec = Spec(v1::PRIMARY_ONLY, 1, "40%");
  Start(spec);
  world().hold_adds = true;
  Lose(0, 3);
  world().Advance(Seconds(11));
  ASSERT_THAT(world().adds, SizeIs(2));
  spec.mutable_failover()->clear_mass_failure();
  world().Apply(spec);
  world().Advance(Seconds(1));
  EXPECT_THAT(world().adds, SizeIs(Gt(10u)));
  EXPECT_EQ(Condition(), "");
}

TEST_F(MassFailureTest, SecondariesInStepArePromotedAtOnce) {
  v1::AppSpec spec = Spec(v1::PRIMARY_SECONDARY, 2, "40%");
  spec.mutable_placement()->set_spread(v1::REGION);
  spec.mutable_failover()->set_delay_ms(1'000);
  Start(spec);
  Lose(0, 4);
  EXPECT_NE(Condition(), "");
  world().Advance(Seconds(2));
  size_t primaries = 0;
  for (int i = 0; i < 40; ++i) {
    const std::vector<std::string> roles = world().Roles(absl::StrCat("s-", i));
    primaries += !roles.empty() && roles[0].ends_with('*');
  }
  EXPECT_EQ(primaries, 40u);
}

// Both replicas of some shards are among the lost.
class LastCopyTest : public MassFailureTest {
 protected:
  void StartAndLose() {
    Start(Spec(v1::PRIMARY_SECONDARY, 2, "40%"));
    Lose(0, 1);
    Lose(5, 6);
    world().Advance(Seconds(60));
    unserved_ = Unserved();
    ASSERT_GT(unserved_, 0u);
  }
  size_t Unserved() {
    size_t unserved = 0;
    for (const v1::ShardStatus& shard : DescribeShards(world().partition().state(), "")) {
      unserved += shard.state() == "unserved";
    }
    return unserved;
  }
  size_t unserved_ = 0;
};

TEST_F(LastCopyTest, IsWaitedForInAMassFailure) {
  StartAndLose();
  EXPECT_THAT(Condition(), AllOf(HasSubstr("since 60 s"), HasSubstr("at most 540 s more"),
                                 HasSubstr("apply a smaller patience_ms")));
  std::map<std::string, std::string> owners;  // by shard, as the records have it
  for (int i : {0, 1, 5, 6}) {
    for (const StoredReplica& replica : world().servers.at(Name(i)).record) {
      if (replica.role == Role::kPrimary) owners[replica.shard] = Name(i);
    }
  }
  EXPECT_THAT(owners, SizeIs(unserved_));
  for (int i : {0, 1, 5, 6}) Join(i);
  EXPECT_EQ(Unserved(), 0u);
  // Its process is a new one: unless it finds everything on disk, it lacks something. No other may.
  for (const Note& note : world().notes) {
    if (note.kind != NoteKind::kUncleanPromotion) continue;
    EXPECT_EQ(world().partition().tables().name(note.server), owners.at(world().Name(note.shard)));
  }
}

TEST_F(LastCopyTest, IsGivenUpWhenPatienceEnds) {
  StartAndLose();
  world().Advance(Seconds(530));
  EXPECT_EQ(Unserved(), unserved_);
  world().Advance(Seconds(20));
  EXPECT_EQ(Unserved(), 0u);
}

TEST_F(LastCopyTest, IsGivenUpAtOnceWhenPatienceIsMadeShorter) {
  StartAndLose();
  v1::AppSpec spec = Spec(v1::PRIMARY_SECONDARY, 2, "40%");
  spec.mutable_failover()->mutable_mass_failure()->set_patience_ms(1);
  world().Apply(spec);
  EXPECT_NE(Condition(), "") << "it is not over";
  world().Advance(Seconds(4));
  EXPECT_EQ(Unserved(), 0u);
}

TEST_F(LastCopyTest, IsWaitedForAlsoWhileItsServerCannotLoadIt) {
  StartAndLose();
  World::AppServer& owner = world().servers.at("kv-6");
  std::vector<std::string> owned;
  for (const StoredReplica& replica : owner.record) {
    if (replica.role == Role::kPrimary) owned.push_back(replica.shard);
  }
  ASSERT_THAT(owned, SizeIs(Gt(0u)));
  owner.sick = true;
  Join(6);
  world().Advance(Seconds(60));
  ASSERT_NE(Condition(), "");
  for (const std::string& shard : owned) {
    EXPECT_THAT(world().Roles(shard), Each(Not(EndsWith("*")))) << shard << " has another primary";
  }
}

// ---- what comes first ----

class FailoverOrderTest : public MassFailureTest {
 protected:
  static v1::AppSpec Limited(v1::ReplicationStrategy strategy, uint32_t replicas) {
    v1::AppSpec spec = TestSpec(40, strategy, replicas);
    spec.mutable_failover()->set_max_concurrent(2);
    spec.mutable_failover()->set_delay_ms(1'000);  // all in one moment
    return spec;
  }
  std::set<std::string> HeldBy(const std::vector<int>& servers) {
    std::set<std::string> shards;
    for (const int server : servers) {
      for (const auto& [shard, held] : world().servers.at(Name(server)).held) shards.insert(shard);
    }
    return shards;
  }
  // The shards, each once, in the order in which they are restored.
  std::vector<std::string> Restored() {
    std::vector<std::string> shards;
    for (int i = 0; i < 200 && !world().adds.empty(); ++i) {
      for (const CommandResult& add : world().adds) {
        const std::string shard = world().Name(add.shard);
        if (std::find(shards.begin(), shards.end(), shard) == shards.end()) shards.push_back(shard);
      }
      world().FinishAdds();
      world().Advance(Milliseconds(10));
    }
    return shards;
  }
};

TEST_F(FailoverOrderTest, RegionsAreRestoredInTheOrderOfTheSpec) {
  v1::AppSpec spec = Limited(v1::PRIMARY_ONLY, 1);
  spec.mutable_failover()->add_region_order("r1");
  spec.mutable_failover()->add_region_order("r0");
  Start(spec);
  const std::set<std::string> first = HeldBy({5, 6});
  world().hold_adds = true;
  Lose(0, 1);
  Lose(5, 6);
  world().Advance(Seconds(2));
  const std::vector<std::string> order = Restored();
  ASSERT_THAT(order, SizeIs(16));
  EXPECT_EQ(std::set<std::string>(order.begin(), order.begin() + 8), first);
}

TEST_F(FailoverOrderTest, ANewOrderHoldsForThoseThatWait) {
  v1::AppSpec spec = Limited(v1::PRIMARY_ONLY, 1);
  Start(spec);
  const std::set<std::string> later = HeldBy({0, 1});
  world().hold_adds = true;
  Lose(0, 1);
  Lose(5, 6);
  world().Advance(Seconds(2));
  spec.mutable_failover()->add_region_order("r1");
  world().Apply(spec);
  world().Advance(Seconds(1));
  const std::vector<std::string> order = Restored();
  ASSERT_THAT(order, SizeIs(16));
  size_t early = 0;  // of r0, before the last of r1
  for (size_t i = 0; i < 8; ++i) early += later.contains(order[i]);
  EXPECT_LE(early, 2u) << "those that were under way";
}

TEST_F(FailoverOrderTest, WhatNobodyServesComesBeforeOtherRegions) {
  v1::AppSpec spec = Limited(v1::SECONDARY_ONLY, 2);
  spec.mutable_failover()->add_region_order("r1");
  Start(spec);
  world().hold_adds = true;
  Lose(0, 2);
  Lose(5, 7);
  std::set<std::string> unserved;
  for (int i = 0; i < 40; ++i) {
    if (world().Holders(absl::StrCat("s-", i)).empty()) unserved.insert(absl::StrCat("s-", i));
  }
  ASSERT_THAT(unserved, SizeIs(Gt(2u)));
  world().Advance(Seconds(2));
  const std::vector<std::string> order = Restored();
  const std::set<std::string> first(order.begin(),
                                    order.begin() + static_cast<long>(unserved.size()));
  EXPECT_EQ(first, unserved);
}

// Those that are woken first have got back what they lacked, and use no room. (In a mass failure no
// plan for balance finds the others by the way.)
TEST_F(FailoverOrderTest, ThoseBehindManyThatLackNothingAreRestoredToo) {
  v1::AppSpec spec = TestSpec(1'000);
  spec.mutable_failover()->set_delay_ms(1'000);
  spec.mutable_failover()->mutable_mass_failure()->set_servers("2");
  spec.mutable_failover()->mutable_mass_failure()->set_max_concurrent(1);
  Start(WithDefaults(spec));
  world().hold_adds = true;
  Lose(0, 4);
  world().Advance(Seconds(2));
  Lose(5, 5);
  world().Advance(Seconds(2));
  for (int i = 0; i < 5; ++i) Join(i);
  for (int i = 0; i < 1'000 && HeldByAll(world()) < 1'000; ++i) {
    world().FinishAdds();
    world().Advance(Milliseconds(100));
  }
  EXPECT_EQ(HeldByAll(world()), 1'000u);
}

}  // namespace
}  // namespace shardmanager::orchestrator
