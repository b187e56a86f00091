// Rows of docs/invariants.md, "Faults that bit other systems".
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// One server with three shards, and reports of it that come late.
class StaleReportTest : public ::testing::Test {
 protected:
  StaleReportTest() {
    world_.Start();
    world_.Join("kv-0");
    world_.Advance(Seconds(10));
    server_ = world_.partition().tables().FindServer("kv-0");
    EXPECT_EQ(world_.Served(), 3u);
    world_.commands.clear();
  }
  ServerReport ReportNow() {
    ServerReport report{.server = server_, .incarnation = world_.servers.at("kv-0").incarnation};
    for (const auto& [shard, held] : world_.servers.at("kv-0").held) {
      report.held.push_back({shard, held.epoch, true});
    }
    return report;
  }

  World world_{TestSpec(3)};
  ServerIndex server_;
};

TEST_F(StaleReportTest, F11_AReportOfAFormerLifeChangesNothing) {
  ServerReport stale = ReportNow();
  stale.held.clear();
  world_.Die("kv-0");
  world_.Join("kv-0");
  world_.Advance(Seconds(1));
  ASSERT_EQ(world_.Served(), 3u);
  world_.commands.clear();
  world_.Send(stale);
  EXPECT_EQ(world_.Served(), 3u);
  EXPECT_THAT(world_.commands, IsEmpty());
}

// The other way round: what a former life held does not count as served by this one.
TEST_F(StaleReportTest, F11_AFormerLifesShardsAreNotTakenForServed) {
  const ServerReport stale = ReportNow();
  world_.Die("kv-0");
  auto& kv0 = world_.servers.at("kv-0");
  kv0.answers = false;
  world_.Join("kv-0");
  kv0.held.clear();  // it has loaded nothing yet
  ASSERT_EQ(world_.Served(), 0u);
  world_.Send(stale);
  EXPECT_EQ(world_.Served(), 0u);
}

TEST_F(StaleReportTest, F11_AReportOfAnOlderEpochDoesNotMakeAReplicaServe) {
  ServerReport stale = ReportNow();
  for (HeldReplica& held : stale.held) held.epoch = ShardEpoch(held.epoch.value() - 1);
  world_.servers.at("kv-0").answers = false;
  world_.hold_collects = true;
  world_.Restart();
  server_ = world_.partition().tables().FindServer("kv-0");
  stale.server = server_;
  world_.Send(stale);
  EXPECT_EQ(world_.Served(), 0u);
  EXPECT_THAT(world_.commands, SizeIs(3)) << "it is asked to serve under the newer one";
  world_.servers.at("kv-0").answers = true;
  world_.Advance(Seconds(10));
  EXPECT_EQ(world_.Served(), 3u);
}

// It was asked before the shard was added, and its answer is overtaken by the command's.
TEST_F(StaleReportTest, F11_AReportThatIsOlderThanACommandsAnswerDoesNotUndoIt) {
  world_.hold_collects = true;
  world_.Advance(Seconds(40));  // it is asked what it holds
  ASSERT_THAT(world_.collects, SizeIs(1));
  const ServerReport stale = ReportNow();
  world_.Apply(TestSpec(4));
  world_.Advance(Seconds(1));
  ASSERT_EQ(world_.Served(), 4u);
  world_.commands.clear();
  const int published = world_.publishes;

  world_.Send(stale);
  world_.Advance(Milliseconds(100));
  EXPECT_EQ(world_.Served(), 4u) << "clients would have lost a shard that is served";
  EXPECT_THAT(world_.commands, IsEmpty());
  EXPECT_EQ(world_.publishes, published);

  // What is asked from now on counts in full.
  world_.hold_collects = false;
  world_.servers.at("kv-0").held.erase("s-3");
  world_.Advance(Seconds(40));
  EXPECT_THAT(world_.commands, ElementsAre("add s-3 kv-0"));
  EXPECT_EQ(world_.Served(), 4u);
}

class LongSolveTest : public ::testing::Test {
 protected:
  LongSolveTest() {
    world_.Start();
    for (const char* name : {"kv-0", "kv-1"}) world_.Join(name);
    world_.Advance(Seconds(30));
    world_.hold_plans = true;
    world_.Join("kv-2");  // worth a plan that takes long
    world_.Advance(Seconds(20));
    EXPECT_THAT(world_.plans, SizeIs(1));
    EXPECT_EQ(world_.Served(), 12u);
    world_.notes.clear();
    world_.commands.clear();
  }
  ServerState StateOf(const std::string& server) {
    const Tables& tables = world_.partition().tables();
    return tables.server(tables.FindServer(server)).state;
  }

  World world_{TestSpec(12)};
};

TEST_F(LongSolveTest, F21_MembershipIsHeardWhileAPlanIsMade) {
  world_.Die("kv-1");
  EXPECT_EQ(StateOf("kv-1"), ServerState::kLost);
  EXPECT_EQ(world_.NoteCount(NoteKind::kServerLost), 1u);
  world_.Join("kv-3");
  EXPECT_EQ(StateOf("kv-3"), ServerState::kLive);
  world_.Join("kv-1");  // and back, with its record: nothing has to be planned for that
  EXPECT_EQ(StateOf("kv-1"), ServerState::kLive);
  world_.Advance(Seconds(2));
  EXPECT_EQ(world_.Served(), 12u);
  EXPECT_THAT(world_.plans, SizeIs(1)) << "one plan at a time";
}

TEST_F(LongSolveTest, F21_AFailoverIsPlannedAsSoonAsTheLongPlanIsThereWhichIsLookedAtAgain) {
  world_.Die("kv-1");
  world_.Advance(Seconds(5));
  world_.commands.clear();
  world_.FinishPlan();  // made for a world with kv-1
  ASSERT_THAT(world_.plans, SizeIs(1)) << "the next one repairs, at once";
  EXPECT_EQ(world_.plans.front().options.mode, allocator::Mode::kEmergency);
  world_.hold_plans = false;
  world_.FinishPlan();
  world_.Advance(Seconds(2));
  EXPECT_EQ(world_.Served(), 12u);
  for (const std::string& command : world_.commands) {
    EXPECT_EQ(command.find("kv-1"), std::string::npos) << command;
  }
}

TEST_F(LongSolveTest, F21_SpecsAndReportsAreHeardWhileAPlanIsMade) {
  world_.Apply(TestSpec(11));
  EXPECT_THAT(world_.commands, SizeIs(1)) << "the shard that went is dropped";
  EXPECT_EQ(world_.commands[0].substr(0, 5), "drop ");
}

}  // namespace
}  // namespace shardmanager::orchestrator
