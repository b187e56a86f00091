// How many moves are under way at once, by what they are for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

// Servers do not finish what they are to add, before they are told to.
class BudgetsTest : public ::testing::Test {
 protected:
  void Start(const v1::AppSpec& spec, int servers) {
    world.emplace(spec);
    world->Start();
    for (int i = 0; i < servers; ++i) world->Join(absl::StrCat("kv-", i));
    world->Advance(Seconds(120));
    world->hold_adds = true;
    world->commands.clear();
  }
  // kv-0 of so many; its replicas are in failover one at a time.
  void LoseOneOf(int servers) {
    v1::AppSpec spec = TestSpec(12);
    spec.mutable_failover()->set_max_concurrent(1);
    Start(spec, servers);
    world->Die("kv-0");
    world->Advance(Seconds(1));
    ASSERT_EQ(world->adds.size(), 1u);
  }
  void Drain(const std::string& server, const v1::AppSpec& spec) {
    v1::Drain drain;
    drain.mutable_scope()->set_server(server);
    world->ordered.drains = {drain};
    world->Apply(spec);
    world->Advance(Seconds(60));
  }
  // Of those that are being added.
  std::map<std::string, size_t> AddsByServer() {
    std::map<std::string, size_t> count;
    for (const CommandResult& add : world->adds) {
      ++count[world->partition().tables().name(add.server)];
    }
    return count;
  }
  std::vector<size_t> AddsOf(const std::map<std::string, size_t>& by) const {
    std::vector<size_t> counts;
    for (const auto& [name, count] : by) counts.push_back(count);
    return counts;
  }
  std::map<std::string, size_t> AddsByShard() const {
    std::map<std::string, size_t> count;
    for (const CommandResult& add : world->adds) ++count[world->Name(add.shard)];
    return count;
  }
  // Old owners whose primaries are on their way elsewhere.
  size_t Leaving(const std::string& server) const {
    const std::vector<StoredReplica>& record = world->servers.at(server).record;
    return static_cast<size_t>(std::count_if(
        record.begin(), record.end(),
        [](const StoredReplica& replica) { return replica.phase != Phase::kGranted; }));
  }
  void ExpectAtRest(size_t replicas) {
    EXPECT_EQ(WaitsOfAll(*world), "");
    EXPECT_EQ(HeldByAll(*world), replicas);
  }
  // Lets servers finish, as long as there is something to finish.
  void FinishAll() {
    for (int i = 0; i < 200 && !world->adds.empty(); ++i) {
      world->FinishAdds();
      world->Advance(Seconds(11));
    }
  }

  std::optional<World> world;
};

TEST_F(BudgetsTest, ADrainDoesNotWaitForBalance) {
  v1::AppSpec spec = TestSpec(24);
  spec.mutable_moves()->set_max_concurrent(2);
  spec.mutable_moves()->mutable_drain()->set_max_concurrent(3);
  Start(spec, 2);
  world->Join("kv-2");
  world->Advance(Seconds(60));
  EXPECT_EQ(world->adds.size(), 2u);
  EXPECT_THAT(WaitsOfAll(*world), HasSubstr("moves.max_concurrent: all 2 moves are taken"));
  Drain("kv-0", spec);
  EXPECT_EQ(world->adds.size(), 2u + 3u);
  EXPECT_THAT(WaitsOfAll(*world), HasSubstr("moves.drain.max_concurrent: all 3 moves are taken"));
  FinishAll();
  EXPECT_EQ(world->Counts().at("kv-0"), 0u);
  ExpectAtRest(24u);
}

TEST_F(BudgetsTest, BalanceDoesNotWaitForADrain) {
  v1::AppSpec spec = TestSpec(24);
  spec.mutable_moves()->mutable_drain()->set_max_concurrent(1);
  Start(spec, 3);
  Drain("kv-0", spec);
  EXPECT_EQ(world->adds.size(), 1u);
  world->Join("kv-3");
  world->Advance(Seconds(60));
  EXPECT_GT(world->adds.size(), 1u);
}

TEST_F(BudgetsTest, MovesUnderWayCountForTheNextPlanAtBothEnds) {
  v1::AppSpec spec = TestSpec(24);
  spec.mutable_moves()->set_max_concurrent_per_server(3);
  Start(spec, 1);
  world->Join("kv-1");
  world->Advance(Seconds(60));
  EXPECT_EQ(AddsByServer()["kv-1"], 3u);
  CommandResult first = world->adds.front();
  world->adds.erase(world->adds.begin());
  world->Send(std::move(first));
  world->Join("kv-2");
  world->Advance(Seconds(60));
  EXPECT_THAT(AddsOf(AddsByServer()), Each(Le(3u)));
  EXPECT_EQ(Leaving("kv-0"), 3u);
  FinishAll();
  ExpectAtRest(24u);
}

TEST_F(BudgetsTest, ASuccessorCountsTheHandoversThatItFinds) {
  v1::AppSpec spec = TestSpec(24);
  spec.mutable_moves()->mutable_drain()->set_max_concurrent(3);
  Start(spec, 2);
  world->hold_writes = true;
  Drain("kv-0", spec);
  world->FinishWrite(WriteOutcome::kOk);
  world->Restart();
  world->hold_writes = false;
  while (!world->writes.empty()) world->FinishWrite(WriteOutcome::kOk);
  world->Advance(Seconds(60));
  EXPECT_EQ(world->adds.size(), 3u);
  EXPECT_THAT(WaitsOfAll(*world), HasSubstr("moves.drain.max_concurrent: all 3 moves are taken"));
  FinishAll();
  ExpectAtRest(24u);
}

TEST_F(BudgetsTest, FailoverKeepsItsBudgetOfEachServer) {
  v1::AppSpec spec = TestSpec(40);
  spec.mutable_failover()->set_max_concurrent_per_server(2);
  Start(spec, 4);
  world->Die("kv-0");
  world->Advance(Seconds(10));
  EXPECT_THAT(AddsOf(AddsByServer()), testing::ElementsAre(2u, 2u, 2u));
  EXPECT_THAT(WaitsOfAll(*world), HasSubstr("failover.max_concurrent_per_server: every server"));
  while (!world->adds.empty()) {
    EXPECT_THAT(AddsOf(AddsByServer()), Each(Le(2u)));
    CommandResult first = world->adds.front();
    world->adds.erase(world->adds.begin());
    world->Send(std::move(first));
    world->Advance(Milliseconds(10));
  }
  ExpectAtRest(40u);
}

// One that is quarantined has room, and is given nothing.
TEST_F(BudgetsTest, AQuarantinedServersRoomForFailoversIsNone) {
  v1::AppSpec spec = TestSpec(40);
  spec.mutable_failover()->set_max_concurrent_per_server(2);
  Start(spec, 3);
  world->hold_adds = false;
  world->servers["kv-3"].sick = true;
  world->Join("kv-3");
  world->Advance(Seconds(120));
  ASSERT_NE(world->Quarantine("kv-3"), "");
  world->hold_adds = true;
  world->Die("kv-0");
  world->Advance(Seconds(5));
  EXPECT_THAT(WaitsOfAll(*world), HasSubstr("failover.max_concurrent_per_server: every server"));
}

// (Seed 19083 of the simulation: a replica that had no other place held the only one among
// failovers for ever.)
TEST_F(BudgetsTest, AFailoverThatItsOnlyServerCannotCarryOutHoldsNobodyUp) {
  v1::AppSpec spec = TestSpec(24, v1::SECONDARY_ONLY, 2);
  spec.mutable_failover()->set_max_concurrent(1);
  Start(spec, 3);
  world->hold_adds = false;
  std::set<std::string> refused;  // of each two replicas, kv-0 had one and kv-1 has the other
  std::set<std::string> others;
  for (const auto& [shard, held] : world->servers.at("kv-0").held) {
    (world->servers.at("kv-1").held.contains(shard) ? refused : others).insert(shard);
  }
  ASSERT_GE(refused.size(), 3u);
  ASSERT_GE(others.size(), 3u);
  world->servers.at("kv-2").refuses = refused;
  world->Die("kv-0");
  world->Advance(Seconds(300));
  for (const std::string& shard : others) EXPECT_THAT(world->Holders(shard), SizeIs(2)) << shard;
  for (const std::string& shard : refused) EXPECT_THAT(world->Holders(shard), SizeIs(1)) << shard;
}

TEST_F(BudgetsTest, FailoverKeepsItsBudgetOfEachShard) {
  v1::AppSpec spec = TestSpec(6, v1::SECONDARY_ONLY, 3);
  spec.mutable_failover()->set_max_concurrent_per_shard(1);
  Start(spec, 6);
  spec.mutable_moves()->set_balance_interval_ms(3'600'000);  // no moves of other replicas
  world->Apply(spec);
  world->Advance(Seconds(60));  // the next look is an hour away
  world->Die("kv-0");
  world->Die("kv-1");
  world->Advance(Seconds(10));
  std::erase_if(world->adds, [&](const CommandResult& add) {
    return !world->servers.at(world->partition().tables().name(add.server)).live;
  });
  EXPECT_THAT(world->adds, SizeIs(testing::Gt(3u)));
  for (const auto& [shard, adds] : AddsByShard()) EXPECT_EQ(adds, 1u) << shard;
  EXPECT_THAT(WaitsOfAll(*world), HasSubstr("failover.max_concurrent_per_shard: other replicas"));
  FinishAll();
  ExpectAtRest(18u);
}

// Those that waited before them had got back what they lacked, and used no room.
TEST_F(BudgetsTest, NobodyWaitsForFailoversThatHaveAllEnded) {
  LoseOneOf(3);
  const CommandResult slow = world->adds.front();
  world->Join("kv-0");
  world->Advance(Seconds(1));
  world->hold_adds = false;
  world->Die("kv-1");
  world->Advance(Seconds(1));
  world->Send(slow);
  world->FinishAdds();
  world->Advance(Seconds(60));
  ExpectAtRest(12u);
}

TEST_F(BudgetsTest, AFailoverWhoseNewServerIsLostTakesUpNoRoom) {
  LoseOneOf(4);
  world->Die(AddsByServer().begin()->first);
  world->hold_adds = false;
  world->FinishAdds();
  world->Advance(Seconds(60));
  ExpectAtRest(12u);
}

TEST_F(BudgetsTest, ASuccessorCountsTheHandoversUnderWay) {
  v1::AppSpec spec = TestSpec(24);
  spec.mutable_moves()->set_max_concurrent(2);
  Start(spec, 2);
  world->Join("kv-2");
  world->Advance(Seconds(60));
  ASSERT_EQ(Leaving("kv-0") + Leaving("kv-1"), 2u);
  world->adds.clear();  // the old leader's
  world->Restart();
  world->Advance(Seconds(60));
  EXPECT_EQ(world->partition().state().moves.budgets.planned_moves(), 2u);
  EXPECT_EQ(Leaving("kv-0") + Leaving("kv-1"), 2u);
  FinishAll();
  ExpectAtRest(24u);
  EXPECT_EQ(world->partition().state().moves.budgets.planned_moves(), 0u);
}

}  // namespace
}  // namespace shardmanager::orchestrator
