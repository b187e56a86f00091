// What operators are shown is what clients would meet.
#include "orchestrator/describe/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/describe/explain_status.h"
#include "orchestrator/describe/health.h"
#include "orchestrator/describe/problems.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Property;
using ::testing::SizeIs;
using ::testing::StartsWith;

class StatusTest : public testing::Test {
 protected:
  StatusTest() : world(TestSpec(4, v1::PRIMARY_SECONDARY, 2)) {
    world.Start();
    for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Join(name);
    world.Advance(Seconds(5));
  }
  v1::AppStatus App() { return DescribeApp(world.partition().state(), world.now); }
  v1::ShardStatus Shard() { return DescribeShards(world.partition().state(), "s-0").front(); }
  v1::ServerStatus Server(const std::string& name) {
    return DescribeServers(world.partition().state(), world.now, name).front();
  }
  std::vector<std::string> Problems() {
    const PartitionState& state = world.partition().state();
    std::vector<std::string> all;
    for (const v1::Problem& problem : ProblemsOf(state, HealthOf(state).counts, world.now)) {
      all.push_back(problem.reason() + ": " + problem.message());
    }
    return all;
  }
  std::string PrimaryOf(const std::string& shard) {
    for (const std::string& role : world.Roles(shard)) {
      if (role.ends_with("*")) return role.substr(0, role.size() - 1);
    }
    return "";
  }

  World world;
};

TEST_F(StatusTest, AllIsServed) {
  EXPECT_EQ(App().shards_served(), 4u);
  EXPECT_EQ(App().replicas_serving(), 8u);
  EXPECT_EQ(App().conditions_size(), 0);
  EXPECT_EQ(App().servers_live(), 3u);
  EXPECT_EQ(Shard().state(), "serving");
  EXPECT_EQ(Server("kv-0").state(), "live");
  EXPECT_EQ(Server("kv-0").reason(), "");
}

TEST_F(StatusTest, AShardWithoutItsPrimaryIsNotServed) {
  world.hold_writes = true;  // nobody is promoted
  world.Die(PrimaryOf("s-0"));
  EXPECT_EQ(Shard().state(), "unserved");
  EXPECT_LT(App().shards_served(), 4u);
  EXPECT_THAT(App().conditions(),
              Contains(HasSubstr("without a primary: what needs one is refused")));
}

TEST_F(StatusTest, HealthCountsWhatClientsMeet) {
  EXPECT_THAT(Problems(), ElementsAre());
  const v1::AppHealth well = App().health();
  EXPECT_EQ(well.shards_unserved(), 0u);
  EXPECT_EQ(well.servers_live(), 3u);
  world.hold_writes = true;  // nobody is promoted
  world.Die(PrimaryOf("s-0"));
  const v1::AppHealth ill = App().health();
  EXPECT_EQ(ill.shards_unserved(), 4u - App().shards_served());
  EXPECT_EQ(ill.shards_without_primary(), ill.shards_unserved());
  EXPECT_EQ(ill.servers_lost(), 1u);
  EXPECT_EQ(ill.servers_live(), 2u);
  EXPECT_THAT(Problems(), AllOf(Contains(StartsWith("ShardsWithoutPrimary: ")),
                                Contains(StartsWith("ServersLost: 1 server lost, and not replaced "
                                                    "yet, as kv-"))));
  ASSERT_GT(App().troubles_size(), 0);
  EXPECT_EQ(App().troubles(0).state(), "unserved");
  EXPECT_NE(App().troubles(0).reason(), "");
}

TEST_F(StatusTest, ADrainThatCannotEndIsAProblem) {
  World alone(TestSpec(2));
  alone.Start();
  alone.Join("kv-0");
  alone.Advance(Seconds(5));
  alone.ordered.drains.emplace_back().mutable_scope()->set_server("kv-0");
  alone.Apply(TestSpec(2));
  alone.Advance(Seconds(60));
  const PartitionState& state = alone.partition().state();
  const v1::AppHealth health = HealthOf(state).counts;
  EXPECT_EQ(health.servers_draining(), 1u);
  EXPECT_EQ(health.servers_draining_stuck(), 1u);
  const auto problems = ProblemsOf(state, health, alone.now);
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_EQ(problems[0].reason(), "DrainStuck");
  EXPECT_THAT(problems[0].message(), HasSubstr("kv-0: 2 of 2 replicas left"));
}

// The one whose server is gone would be said first, by name.
TEST_F(StatusTest, AnUnservedShardNamesTheReplicaThatFailed) {
  World broken(TestSpec(1, v1::SECONDARY_ONLY, 2));
  broken.Start();
  broken.servers["kv-1"].refuses = {"s-0"};
  for (const char* name : {"kv-0", "kv-1"}) broken.Join(name);
  broken.Gather();
  broken.Die("kv-0");
  const v1::ShardStatus shard = DescribeShards(broken.partition().state(), "s-0").front();
  EXPECT_EQ(shard.state(), "unserved");
  EXPECT_EQ(shard.reason(), "failed on kv-1: disk full");
}

TEST_F(StatusTest, ShardsAreFilteredByStateAndByServer) {
  world.hold_writes = true;
  const std::string dead = PrimaryOf("s-0");
  world.Die(dead);
  v1::GetShardsRequest unserved;
  unserved.add_states("unserved");
  const auto found = DescribeShards(world.partition().state(), unserved);
  EXPECT_EQ(found.size(), 4u - App().shards_served());
  for (const v1::ShardStatus& shard : found) EXPECT_EQ(shard.state(), "unserved");
  unserved.set_limit(1);
  EXPECT_THAT(DescribeShards(world.partition().state(), unserved), SizeIs(1));
  v1::GetShardsRequest there;
  there.set_server(dead);
  const auto held = DescribeShards(world.partition().state(), there);
  EXPECT_EQ(held.size(), Server(dead).replicas());
  there.set_server("nobody");
  EXPECT_THAT(DescribeShards(world.partition().state(), there), SizeIs(0));
  v1::GetShardsRequest wrong;
  wrong.add_states("broken");
  EXPECT_EQ(ValidateFilter(wrong).message(),
            "states: found \"broken\"; allowed: serving, degraded, unserved");
}

TEST_F(StatusTest, APrimaryThatIsToBeASecondarySaysWhy) {
  world.Advance(Seconds(60));
  world.ordered.drains.emplace_back().mutable_scope()->set_server(PrimaryOf("s-0"));
  world.ordered.drains.back().set_primaries_only(true);
  world.hold_writes = true;
  world.Apply(TestSpec(4, v1::PRIMARY_SECONDARY, 2));
  ASSERT_THAT(world.writes, SizeIs(1));
  world.FinishWrite(WriteOutcome::kOk);
  EXPECT_THAT(
      Shard().replicas(),
      Contains(AllOf(Property(&v1::ReplicaStatus::state, "demoting"),
                     Property(&v1::ReplicaStatus::reason, "another server is to be the primary"))));
}

TEST_F(StatusTest, BothPartiesOfAHandoverSayWhatTheyDo) {
  const auto is = [](const std::string& server, const std::string& state,
                     const std::string& reason) {
    return AllOf(Property(&v1::ReplicaStatus::server, server),
                 Property(&v1::ReplicaStatus::state, state),
                 Property(&v1::ReplicaStatus::reason, reason));
  };
  World moving(TestSpec(1));
  moving.Start();
  moving.Join("kv-0");
  moving.Gather();
  moving.Join("kv-1");
  moving.Advance(Seconds(1));
  moving.ordered.drains.emplace_back().mutable_scope()->set_server("kv-0");
  moving.hold_writes = true;
  moving.Apply(TestSpec(1));
  moving.Advance(Milliseconds(10));
  ASSERT_THAT(moving.writes, SizeIs(1));
  moving.FinishWrite(WriteOutcome::kOk);
  EXPECT_THAT(DescribeShards(moving.partition().state(), "s-0").front().replicas(),
              Contains(is("kv-1", "preparing", "to take over from the old primary")));
  moving.FinishWrite(WriteOutcome::kOk);
  EXPECT_THAT(DescribeShards(moving.partition().state(), "s-0").front().replicas(),
              Contains(is("kv-0", "forwarding", "its requests go on to the new primary")));
}

TEST_F(StatusTest, AShardThatIsNotServedNamesTheReplicaThatLoads) {
  World loading(TestSpec(1));
  loading.hold_adds = true;
  loading.Start();
  loading.Join("kv-0");
  loading.Gather();
  const v1::ShardStatus before = DescribeShards(loading.partition().state(), "s-0").front();
  EXPECT_EQ(before.state(), "unserved");
  EXPECT_EQ(before.reason(), "loading on kv-0");
  loading.FinishAdds();
  const v1::ShardStatus after = DescribeShards(loading.partition().state(), "s-0").front();
  EXPECT_EQ(after.state(), "serving");
  EXPECT_EQ(after.reason(), "");
}

TEST_F(StatusTest, OnlyAServerThatLivesIsExplainedAsACandidate) {
  v1::ExplainShardRequest request;
  request.set_shard("s-0");
  request.set_server("kv-0");
  const auto live = FindSubject(world.partition().state(), request);
  ASSERT_TRUE(live.ok()) << live.status();
  EXPECT_EQ(live->server, world.partition().tables().FindServer("kv-0"));
  world.Die("kv-0");
  EXPECT_EQ(FindSubject(world.partition().state(), request).status().code(),
            absl::StatusCode::kFailedPrecondition);
  request.set_server("kv-9");
  EXPECT_EQ(FindSubject(world.partition().state(), request).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(StatusTest, ACandidateIsExplainedWithWhatItHasAndCanHold) {
  const PartitionState& state = world.partition().state();
  allocator::Explanation explanation;
  explanation.candidates.resize(1);
  explanation.candidates[0].server = world.partition().tables().FindServer("kv-0");
  const auto candidate =
      DescribeExplanation(state, world.now, {.shard = world.partition().tables().FindShard("s-0")},
                          explanation)
          .candidates(0);
  EXPECT_EQ(candidate.server(), "kv-0");
  EXPECT_THAT(candidate.loads(), ElementsAre(AllOf(Property(&v1::MetricUse::metric, "replicas"),
                                                   Property(&v1::MetricUse::used, Gt(0)))));
}

TEST_F(StatusTest, AServerThatIsDrainedSaysHowFarItIs) {
  world.hold_adds = true;  // nothing can leave it yet
  world.ordered.drains.emplace_back().mutable_scope()->set_server("kv-0");
  world.Apply(TestSpec(4, v1::PRIMARY_SECONDARY, 2));
  EXPECT_EQ(Server("kv-0").state(), "draining");
  EXPECT_THAT(Server("kv-0").reason(), HasSubstr("replicas left"));
}

TEST_F(StatusTest, AReplicaThatIsNotInStepDoesNotServe) {
  World two(TestSpec(1, v1::PRIMARY_SECONDARY, 2));
  two.Start();
  two.Join("kv-0");
  two.servers["kv-0"].cannot_bring = {"kv-1"};
  two.Advance(Seconds(2));
  two.Join("kv-1");
  two.Advance(Seconds(10));
  const v1::ShardStatus shard = DescribeShards(two.partition().state(), "s-0").front();
  EXPECT_EQ(shard.state(), "degraded");
  EXPECT_EQ(shard.reason(), "serving on kv-1: not in step with the primary");
  EXPECT_EQ(DescribeApp(two.partition().state(), two.now).replicas_serving(), 1u);
  EXPECT_EQ(DescribeApp(two.partition().state(), two.now).shards_served(), 1u);
}

TEST_F(StatusTest, AQuarantinedServerSaysSoAndSoDoesItsApp) {
  World secondaries(TestSpec(12));
  secondaries.Start();
  secondaries.Join("kv-0");
  secondaries.Join("kv-1");
  secondaries.Advance(Seconds(2));
  secondaries.servers["kv-2"].sick = true;
  secondaries.Join("kv-2");
  secondaries.Advance(Seconds(10));
  const auto servers = DescribeServers(secondaries.partition().state(), secondaries.now, "kv-2");
  EXPECT_EQ(servers.front().state(), "quarantined");
  EXPECT_THAT(servers.front().reason(), HasSubstr("could not be added (disk full)"));
  EXPECT_THAT(servers.front().reason(), Not(StartsWith(";")));
  EXPECT_THAT(DescribeApp(secondaries.partition().state(), secondaries.now).conditions(),
              ElementsAre(HasSubstr("kv-2 is quarantined: ")));
}

}  // namespace
}  // namespace shardmanager::orchestrator
