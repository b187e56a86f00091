// Shards that servers cannot add, and moves whose new owner cannot get ready.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "allocator/explain.h"
#include "orchestrator/decide/snapshot.h"
#include "orchestrator/describe/explain_status.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// Five servers, of which some cannot add "s-0".
class PoisonTest : public testing::Test {
 protected:
  void Start(const std::set<int>& broken, const v1::AppSpec& spec = TestSpec(5)) {
    world.emplace(spec);
    world->Start();
    for (int i = 0; i < 5; ++i) {
      const std::string name = absl::StrCat("kv-", i);
      if (broken.contains(i)) world->servers[name].refuses = {"s-0"};
      world->Join(name);
    }
    world->Advance(Seconds(30));
  }
  // Two are left, both broken.
  void StartWithTwo() {
    Start({0, 1, 2, 3, 4});
    for (const char* name : {"kv-2", "kv-3", "kv-4"}) world->Die(name);
    world->Restart();
    world->Advance(Seconds(120));
  }
  // Servers that were asked to add it since the last call.
  std::set<std::string> Asked() {
    std::set<std::string> servers;
    for (const std::string& command : std::exchange(world->commands, {})) {
      if (command.starts_with("add s-0 ")) servers.insert(command.substr(8));
    }
    return servers;
  }
  std::vector<std::string> Waits() { return world->WaitsOf("s-0"); }

  std::optional<World> world;
};

TEST_F(PoisonTest, AShardThatFailsOnOneServerGoesToAnother) {
  Start({0, 1, 2, 3, 4});
  Start({0, 1});
  EXPECT_EQ(world->Served(), 5u);
  EXPECT_EQ(world->NoteCount(NoteKind::kShardPoisoned), 0u);
}

TEST_F(PoisonTest, OneThatFailsOnThreeStaysAndIsToldOf) {
  Start({0, 1, 2, 3, 4});
  EXPECT_EQ(Asked().size(), 3u);
  EXPECT_EQ(world->NoteCount(NoteKind::kShardPoisoned), 1u);
  EXPECT_THAT(Waits(), Contains(HasSubstr("failed on several servers in a row")));
  // The others of the app do not suffer, and it is tried where it is.
  EXPECT_EQ(world->Served(), 4u);
  world->Advance(Seconds(25));
  const std::set<std::string> last = Asked();
  ASSERT_EQ(last.size(), 1u);
  for (auto& [name, server] : world->servers) server.refuses.clear();
  world->Advance(Seconds(60));
  EXPECT_EQ(world->Served(), 5u);
  EXPECT_THAT(Waits(), IsEmpty());
}

TEST_F(PoisonTest, WhenItsCauseIsMendedAnOperatorNeedNotWait) {
  Start({0, 1, 2, 3, 4});
  world->Advance(Seconds(1'000));  // by now it is tried rarely
  for (auto& [name, server] : world->servers) server.refuses.clear();
  world->Send(RetryAsked{"s-0"});
  EXPECT_EQ(world->Served(), 5u);
  EXPECT_THAT(Waits(), IsEmpty());
  EXPECT_EQ(world->NoteCount(NoteKind::kRetryAsked), 1u);
}

TEST_F(PoisonTest, ARetryOfWhatIsStillBrokenIsPoisonedAgain) {
  Start({0, 1, 2, 3, 4});
  Asked();
  world->Send(RetryAsked{"s-0"});
  world->Advance(Seconds(30));
  EXPECT_EQ(Asked().size(), 3u);
  EXPECT_EQ(world->NoteCount(NoteKind::kShardPoisoned), 2u);
  EXPECT_EQ(world->Served(), 4u);
}

TEST_F(PoisonTest, ARetryOfWhatNeverFailedChangesNothing) {
  Start({});
  world->commands.clear();
  world->Send(RetryAsked{"s-1"});
  world->Send(RetryAsked{"no such shard"});
  world->Advance(Seconds(1));
  EXPECT_THAT(world->commands, IsEmpty());
  EXPECT_EQ(world->Served(), 5u);
}

// Its last server may be the one that is broken.
TEST_F(PoisonTest, ItGoesOnToOtherServersAtGrowingIntervals) {
  Start({0, 1, 2, 3, 4});
  size_t parked = world->NoteCount(NoteKind::kShardPoisoned);
  for (const int minutes : {1, 2, 4, 8, 16, 32, 32}) {
    EXPECT_EQ(world->NoteCount(NoteKind::kShardPoisoned), parked) << minutes;
    world->Advance(Seconds(60 * minutes));
    EXPECT_GT(Asked().size(), 1u);
    ++parked;
  }
  for (auto& [name, server] : world->servers) server.refuses.clear();
  world->Advance(Seconds(60));
  EXPECT_EQ(world->Served(), 5u);
  EXPECT_THAT(Waits(), IsEmpty());
}

// With only two that could have it, the second one keeps it.
TEST_F(PoisonTest, OneThatFailsWhereverItMayBeIsTriedWhereItIs) {
  StartWithTwo();
  for (auto& [name, server] : world->servers) server.refuses.clear();
  world->Advance(Seconds(60));
  EXPECT_EQ(world->Holders("s-0").size(), 1u);
}

TEST_F(PoisonTest, WhenItsServerIsLostOneThatFailedBeforeMayHaveIt) {
  StartWithTwo();
  Asked();
  world->Advance(Seconds(60));
  const std::set<std::string> last = Asked();
  ASSERT_EQ(last.size(), 1u);
  for (auto& [name, server] : world->servers) server.refuses.clear();
  world->Die(*last.begin());
  world->Advance(Seconds(60));
  EXPECT_EQ(world->Holders("s-0").size(), 1u);
}

// One of two is served by kv-0; the other failed on three servers, and stays on the last.
class PoisonSecondaryTest : public PoisonTest {
 protected:
  PoisonSecondaryTest() {
    v1::AppSpec spec = TestSpec(1, v1::SECONDARY_ONLY, 2);
    spec.mutable_failover()->set_delay_ms(1'000);
    world.emplace(spec);
    world->Start();
    for (const char* name : {"kv-0", "kv-1", "kv-2", "kv-3"}) {
      if (name != std::string_view("kv-0")) world->servers[name].refuses = {"s-0"};
      world->Join(name);
      world->Advance(Seconds(30));
    }
    EXPECT_THAT(world->Holders("s-0"), ElementsAre("kv-0"));
    EXPECT_EQ(world->NoteCount(NoteKind::kShardPoisoned), 1u);
    Asked();
  }
};

TEST_F(PoisonSecondaryTest, ItStaysWhenTheOtherHasNoPlace) {
  world->Die("kv-0");
  world->Advance(Seconds(20));
  EXPECT_THAT(Asked(), ElementsAre("kv-3"));
  for (auto& [name, server] : world->servers) server.refuses.clear();
  world->Advance(Seconds(60));
  EXPECT_THAT(world->Holders("s-0"), SizeIs(2));
}

TEST_F(PoisonSecondaryTest, WhenAllAreLostThoseThatFailedBeforeMayHaveIt) {
  world->Die("kv-0");
  world->Advance(Seconds(600));
  for (auto& [name, server] : world->servers) server.refuses.clear();
  world->Die("kv-3");
  world->Advance(Seconds(600));
  EXPECT_THAT(world->Holders("s-0"), SizeIs(2));
}

TEST_F(PoisonSecondaryTest, WhenItsServerIsLostOneThatFailedBeforeMayHaveIt) {
  for (auto& [name, server] : world->servers) server.refuses.clear();
  world->Die("kv-3");
  world->Advance(Seconds(600));
  EXPECT_THAT(world->Holders("s-0"), SizeIs(2));
}

// Simulation, seed 14502: it stayed for ever where it could not be added, as it had failed, for a
// moment, on the only other server that could have it.
TEST_F(PoisonTest, WhereFewServersAreLeftOneThatFailedBeforeIsTriedAgain) {
  v1::AppSpec spec = TestSpec(1, v1::SECONDARY_ONLY, 2);
  world.emplace(spec);
  world->Start();
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) {
    if (name != std::string_view("kv-0")) world->servers[name].refuses = {"s-0"};
    world->Join(name);
    world->Advance(Seconds(10));
  }
  EXPECT_EQ(world->NoteCount(NoteKind::kShardPoisoned), 1u);
  EXPECT_THAT(Waits(), Contains(HasSubstr("failed on several servers in a row")));
  world->servers["kv-1"].refuses.clear();
  world->Advance(Seconds(60));
  EXPECT_THAT(world->Holders("s-0"), ElementsAre("kv-0", "kv-1"));
  EXPECT_THAT(Waits(), IsEmpty());
}

TEST_F(PoisonTest, AWriteThatFailsCountsNoServerTwice) {
  world.emplace(TestSpec(5));
  world->Start();
  for (int i = 0; i < 5; ++i) {
    world->servers[absl::StrCat("kv-", i)].refuses = {"s-0"};
    world->Join(absl::StrCat("kv-", i));
  }
  world->hold_writes = true;
  for (int writes = 0, step = 0; step < 500; ++step) {
    world->Advance(Milliseconds(100));
    while (!world->writes.empty()) {
      world->FinishWrite(writes++ % 2 == 0 ? WriteOutcome::kFailed : WriteOutcome::kOk);
    }
  }
  EXPECT_EQ(Asked().size(), 3u);
}

TEST_F(PoisonTest, ANewSpecHasItTriedElsewhere) {
  Start({0, 1, 2, 3, 4});
  Asked();
  world->Advance(Seconds(25));
  const std::set<std::string> keeps = Asked();
  ASSERT_EQ(keeps.size(), 1u);
  for (auto& [name, server] : world->servers) {
    if (!keeps.contains(name)) server.refuses.clear();
  }
  EXPECT_EQ(world->Served(), 4u);
  v1::AppSpec spec = TestSpec(5);
  spec.mutable_commands()->set_timeout_ms(59'000);
  world->Apply(spec);
  world->Advance(Seconds(3));
  EXPECT_EQ(world->Served(), 5u);
}

TEST_F(PoisonTest, TheOnlyServerTriesForEver) {
  world.emplace(TestSpec(1));
  world->Start();
  world->servers["kv-0"].refuses = {"s-0"};
  world->Join("kv-0");
  world->Advance(Seconds(120));
  world->servers["kv-0"].refuses.clear();
  world->Advance(Seconds(30));
  EXPECT_EQ(world->Served(), 1u);
}

TEST_F(PoisonTest, ASecondaryThatFailsIsReplaced) {
  Start({1}, TestSpec(5, v1::SECONDARY_ONLY, 3));
  EXPECT_EQ(world->Served(), 5u);
}

TEST_F(PoisonTest, AMoveWhoseNewOwnerCannotGetReadyIsNotTriedAgainAtOnce) {
  world.emplace(TestSpec(1));
  world->Start();
  world->Join("kv-0");
  world->Gather();
  world->servers["kv-1"].refuses = {"s-0"};
  world->Join("kv-1");
  v1::Drain drain;
  drain.mutable_scope()->set_server("kv-0");
  world->ordered.drains = {drain};
  world->Apply(TestSpec(1));
  world->Advance(Seconds(30));
  const auto prepares =
      std::count(world->commands.begin(), world->commands.end(), "prepare-add s-0 kv-1");
  EXPECT_EQ(prepares, 3);
  EXPECT_THAT(Waits(), Contains(HasSubstr("could not be moved to kv-1")));
  world->servers["kv-1"].refuses.clear();
  world->Advance(Seconds(60));
  EXPECT_THAT(world->Holders("s-0"), ElementsAre("kv-1"));
}

// Simulation, seed 14830: as the pause kept it from the last server only, it went to and fro
// between two that could not add it, and the pause grew with each of them.
TEST_F(PoisonTest, AShardThatNobodyElseCanAddIsMovedRarelyAndTriedEverywhere) {
  world.emplace(TestSpec(1));
  world->Start();
  world->Join("kv-0");
  world->Gather();
  for (int i = 1; i <= 9; ++i) {
    world->servers[absl::StrCat("kv-", i)].refuses = {"s-0"};
    world->Join(absl::StrCat("kv-", i));
  }
  world->ordered.drains.emplace_back().mutable_scope()->set_server("kv-0");
  world->Apply(TestSpec(1));
  std::set<std::string> tried;
  const auto tries = [&] {
    int count = 0;
    for (const std::string& command : std::exchange(world->commands, {})) {
      if (!command.starts_with("prepare-add s-0 ")) continue;
      tried.insert(command);
      ++count;
    }
    return count;
  };
  world->Advance(Seconds(29));
  EXPECT_EQ(tries(), 9) << "three on each of three servers";
  EXPECT_THAT(Waits(), Contains(HasSubstr("could not be moved to several servers")));
  world->Advance(Seconds(60 + 120 + 240 + 480));
  EXPECT_THAT(tries(), AllOf(Ge(15), Le(30))) << "two servers in each pause of 1, 2, 4, 8 minutes";
  EXPECT_THAT(tried, SizeIs(9)) << "of each server, in turn";
  world->servers["kv-7"].refuses.clear();
  world->Advance(Seconds(7'200));
  EXPECT_THAT(world->Holders("s-0"), ElementsAre("kv-7"));
  EXPECT_THAT(Waits(), IsEmpty());
}

// Its old owner is lost since, and nobody else is there: it would be dropped for nothing.
TEST_F(PoisonTest, AShardThatNobodyElseCouldHaveStaysWhereItsMoveFailed) {
  v1::AppSpec spec = TestSpec(1);
  spec.mutable_moves()->set_primary_move(v1::DROP_THEN_ADD);
  world.emplace(spec);
  world->Start();
  world->Join("kv-0");
  world->Gather();
  world->servers["kv-1"].refuses = {"s-0"};
  world->Join("kv-1");
  world->ordered.drains.emplace_back().mutable_scope()->set_server("kv-0");
  world->Apply(spec);
  world->Advance(Milliseconds(50));
  world->Die("kv-0");
  ASSERT_THAT(world->servers["kv-0"].record, IsEmpty());
  ASSERT_THAT(world->servers["kv-1"].record, SizeIs(1));
  world->Advance(Seconds(60));
  EXPECT_THAT(world->commands, Not(Contains("drop s-0 kv-1")));
  EXPECT_THAT(Waits(), Contains(HasSubstr("kv-1: to add the shard failed")));
}

// The pause after a failed move spares requests. A replica that is missing has none to spare.
TEST_F(PoisonTest, AMissingReplicaGoesWhereAMoveHasFailedBefore) {
  world.emplace(TestSpec(1, v1::SECONDARY_ONLY, 1));
  world->Start();
  world->Join("kv-0");
  world->Gather();
  world->servers["kv-1"].refuses = {"s-0"};
  world->Join("kv-1");
  world->ordered.drains.emplace_back().mutable_scope()->set_server("kv-0");
  world->Apply(TestSpec(1, v1::SECONDARY_ONLY, 1));
  world->Advance(Seconds(3));
  EXPECT_THAT(Waits(), Contains(HasSubstr("could not be moved to kv-1")));
  world->servers["kv-1"].refuses.clear();
  world->Die("kv-0");
  world->Advance(Seconds(20));
  EXPECT_THAT(world->Holders("s-0"), ElementsAre("kv-1"));
}

// kv-0 is lost, and kv-1 cannot add the shard. When kv-2 joins, it takes the place of one of them:
// kv-0 may come back, and would be missed.
TEST_F(PoisonTest, AReplicaThatIsLostIsNotForgottenWhileAnotherOneGoes) {
  v1::AppSpec spec = TestSpec(1, v1::SECONDARY_ONLY, 2);
  spec.mutable_failover()->set_delay_ms(1'000);
  world.emplace(spec);
  world->Start();
  world->servers["kv-1"].refuses = {"s-0"};
  world->Join("kv-0");
  world->Join("kv-1");
  world->Advance(Seconds(54));
  world->Die("kv-0");
  world->Advance(Seconds(4));
  world->hold_writes = true;
  world->Join("kv-2");
  world->Gather();
  ASSERT_THAT(world->writes, SizeIs(1));
  std::vector<std::string> written;
  for (const ServerWrite& write : world->writes[0].writes) {
    written.push_back(world->partition().tables().name(write.server));
  }
  EXPECT_THAT(written, UnorderedElementsAre("kv-1", "kv-2"));
}

// What `shardctl explain` shows.
TEST_F(PoisonTest, IsExplainedWithTheOneReplicaThatItHas) {
  Start({0, 1, 2, 3, 4});
  for (int second = 0; second < 120; ++second) {
    world->Advance(Seconds(1));
    const PartitionState& state = world->partition().state();
    const ShardIndex id = state.tables.FindShard("s-0");
    const allocator::Explanation explanation =
        allocator::Explain(ExplainSnapshot(state, id), {.most_candidates = 5});
    ExplainSubject subject;
    subject.shard = id;
    subject.most_candidates = 5;
    const v1::ExplainShardResponse said =
        DescribeExplanation(state, world->now, subject, explanation);
    ASSERT_LE(said.replicas_size(), 1) << second << "\n" << said.DebugString();
  }
}

}  // namespace
}  // namespace shardmanager::orchestrator
