// What a shard waits for, as operators read it.
#include "orchestrator/describe/waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "orchestrator/decide/snapshot.h"
#include "tests/golden/source_root.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::string WaitsOf(World& world, const std::string& shard) {
  std::string all;
  for (const std::string& wait : world.WaitsOf(shard)) absl::StrAppend(&all, wait, "\n");
  return all;
}

TEST(WaitsTest, SaysThatAServedShardWaitsForNothing) {
  World world(TestSpec(2));
  world.Start();
  world.Join("kv-0");
  world.Advance(Seconds(30));
  EXPECT_EQ(WaitsOf(world, "s-1"), "");
  EXPECT_THAT(BalanceState(world.partition().state(), world.now), HasSubstr("next look in "));
}

TEST(WaitsTest, SaysThatAShardWaitsForAWriteAndForAPlace) {
  World world(TestSpec(1));
  world.Start();
  EXPECT_THAT(WaitsOf(world, "s-0"), HasSubstr("no live server accepts replicas"));
  world.hold_writes = true;
  world.Join("kv-0");
  EXPECT_THAT(WaitsOf(world, "s-0"),
              HasSubstr("servers are joining; its first place is looked for in 0.2 s"));
  world.Gather();
  EXPECT_THAT(WaitsOf(world, "s-0"), HasSubstr("is being written to the coordination store"));
  world.FinishWrite(WriteOutcome::kFailed);
  EXPECT_THAT(WaitsOf(world, "s-0"), HasSubstr("did not take the last write"));
}

TEST(WaitsTest, SaysThatAPlanIsMadeAndThatAShardIsLoaded) {
  World world(TestSpec(1));
  world.Start();
  world.hold_plans = true;
  world.hold_adds = true;
  world.Join("kv-0");
  world.Gather();
  EXPECT_THAT(WaitsOf(world, "s-0"), HasSubstr("a plan is being made that looks for a place"));
  world.FinishPlan();
  EXPECT_THAT(WaitsOf(world, "s-0"), HasSubstr("kv-0 loads it"));
}

TEST(WaitsTest, SaysWhyAnAddFailedAndWhenItIsTriedAgain) {
  World world(TestSpec(2));
  world.Start();
  world.servers["kv-0"].refuses = {"s-1"};
  world.Join("kv-0");
  world.Gather();
  EXPECT_EQ(WaitsOf(world, "s-1"),
            "kv-0: to add the shard failed 1 time in a row (disk full); tried again in 0.1 s\n");
  world.servers.at("kv-0").answers = false;
  world.Advance(Milliseconds(100));
  EXPECT_THAT(WaitsOf(world, "s-1"),
              HasSubstr("kv-0: to add the shard could not be reached (no answer)"));
}

TEST(WaitsTest, SaysWhenAServerThatWasNotReachedIsTriedAgain) {
  World world(TestSpec(1));
  world.Start();
  world.Join("kv-0");
  world.servers.at("kv-0").answers = false;
  world.Gather();
  EXPECT_THAT(WaitsOf(world, "s-0"), HasSubstr("(no answer); tried again in 0.1 s\n"));
}

// A byte counts the failures.
TEST(WaitsTest, MoreFailuresThanAreCountedStayAsManyAsCanBe) {
  World world(TestSpec(1));
  world.Start();
  world.servers["kv-0"].refuses = {"s-0"};
  world.Join("kv-0");
  world.Advance(Seconds(300 * 26));  // 25.6 s is the longest pause between two tries
  EXPECT_THAT(WaitsOf(world, "s-0"), HasSubstr("failed 255 times in a row"));
}

// While the change of the primary is written.
TEST(WaitsTest, APrimaryThatHasBeenOneForLongIsNotSaidToBeNew) {
  World world(TestSpec(1, v1::PRIMARY_SECONDARY, 2));
  world.Start();
  for (const char* name : {"kv-0", "kv-1"}) world.Join(name);
  world.Advance(Seconds(60));
  const std::string primary = world.Roles("s-0").front().ends_with("*") ? "kv-0" : "kv-1";
  world.ordered.drains.emplace_back().mutable_scope()->set_server(primary);
  world.ordered.drains.back().set_primaries_only(true);
  world.hold_writes = true;
  world.Apply(TestSpec(1, v1::PRIMARY_SECONDARY, 2));
  ASSERT_THAT(world.writes, SizeIs(1));
  EXPECT_THAT(WaitsOf(world, "s-0"),
              AllOf(HasSubstr("is being written"), Not(HasSubstr("its primary changed just now"))));
}

// A new leader comes, and then the primary is lost; the secondary in step hangs.
TEST(WaitsTest, SaysWhoIsWaitedForRatherThanAnotherPromoted) {
  World world(TestSpec(1, v1::PRIMARY_SECONDARY, 3));
  world.Start();
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Join(name);
  world.Advance(Seconds(60));
  const std::vector<std::string> roles = world.Roles("s-0");
  const auto is_primary = [](const std::string& role) { return role.ends_with("*"); };
  std::string primary = *std::find_if(roles.begin(), roles.end(), is_primary);
  primary.pop_back();
  for (auto& [name, server] : world.servers) server.answers = false;
  world.Restart();
  world.Die(primary);
  world.Advance(Seconds(60));
  EXPECT_THAT(WaitsOf(world, "s-0"), HasSubstr(" has all that was acknowledged, and has not said "
                                               "yet that it serves"));
}

TEST(WaitsTest, SaysThatAShardWaitsForItsLostServer) {
  v1::AppSpec spec = TestSpec(2);
  spec.mutable_failover()->set_delay_ms(5'000);
  World world(spec);
  world.Start();
  world.Join("kv-0");
  world.Join("kv-1");
  world.Advance(Seconds(30));
  const std::string holder = world.Holders("s-0").at(0);
  world.Die(holder);
  world.Advance(Seconds(1));
  EXPECT_EQ(WaitsOf(world, "s-0"), holder +
                                       " is lost; its replica is given to another server in 4.0 s "
                                       "(failover.delay_ms)\n");
}

TEST(WaitsTest, SaysThatAShardWaitsForTheFailoverBudget) {
  v1::AppSpec spec = TestSpec(4);
  spec.mutable_failover()->set_max_concurrent(1);
  World world(spec);
  world.Start();
  world.Join("kv-0");
  world.Join("kv-1");
  world.Advance(Seconds(60));
  world.servers.at("kv-1").answers = false;
  const auto on_0 = world.servers.at("kv-0").held;
  world.Die("kv-0");
  world.Advance(Seconds(1));
  std::string all;
  for (const auto& [shard, held] : on_0) all += WaitsOf(world, shard);
  EXPECT_THAT(all, HasSubstr("failover.max_concurrent: 1 of 1 replicas are in failover"));
}

TEST(WaitsTest, EveryReasonIsInTheOperatorsManual) {
  std::ostringstream manual;
  manual << std::ifstream(SourceRoot() / "docs/operations.md").rdbuf();
  std::set<std::string_view> names;
  for (size_t i = 0; i < kWaitReasons; ++i) {
    const std::string_view name = ToString(static_cast<WaitReason>(i));
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_THAT(manual.str(), HasSubstr(absl::StrCat("`", std::string(name), "`")));
  }
}

TEST(WaitsTest, NoSentenceHasAWordThatNothingStandsFor) {
  World world(TestSpec(1));
  world.Start();
  world.Join("kv-0");
  for (size_t i = 0; i < kWaitReasons; ++i) {
    const Wait wait{.reason = static_cast<WaitReason>(i), .detail = "disk full"};
    EXPECT_THAT(Describe(world.partition().state(), wait, world.now), Not(HasSubstr("$")));
  }
}

TEST(WaitsTest, ExplainsFromASnapshotOfOneShardAndTheWholeFleet) {
  World world(TestSpec(9));
  world.Start();
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Join(name);
  world.Advance(Seconds(60));
  const ShardIndex id = world.partition().tables().FindShard("s-4");
  const allocator::Snapshot snapshot = ExplainSnapshot(world.partition().state(), id);
  EXPECT_THAT(snapshot.shards, SizeIs(1));
  uint32_t others = 0;
  for (const allocator::ServerInfo& server : snapshot.servers) others += server.other_replicas;
  EXPECT_EQ(others, 8u);
}

}  // namespace
}  // namespace shardmanager::orchestrator
