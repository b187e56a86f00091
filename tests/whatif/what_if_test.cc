#include "whatif/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/spec/spec_validation.h"
#include "orchestrator/describe/status.h"
#include "tests/orchestrator/world.h"
#include "whatif/capacity.h"
#include "whatif/imagined_cell.h"
#include "whatif/outlook.h"

namespace shardmanager::whatif {
namespace {

using orchestrator::MetricAmount;
using orchestrator::TestSpec;
using orchestrator::World;
using ::testing::HasSubstr;

constexpr int kServersEach = 4;
const char* const kRegions[] = {"east", "central", "west"};

v1::AppSpec Spread(int shards, v1::ReplicationStrategy strategy = v1::SECONDARY_ONLY) {
  v1::AppSpec spec = TestSpec(shards, strategy, 2);
  spec.mutable_placement()->set_spread(v1::REGION);
  v1::Metric& cpu = *spec.add_metrics();
  cpu.set_name("cpu");
  cpu.set_capacity(100);
  cpu.set_threshold(0.9);
  cpu.set_tolerance(0.1);
  return spec;
}

void JoinAll(World& world) {
  for (const char* region : kRegions) {
    for (int i = 0; i < kServersEach; ++i) {
      world.JoinAt(absl::StrCat(region, "-", i), {region, "dc", absl::StrCat(region, "-r", i)});
    }
  }
}

v1::AppSnapshot SnapshotOf(World& world) {
  v1::AppSnapshot snapshot;
  snapshot.set_taken_ms(1'700'000'000'000);
  const orchestrator::PartitionState& state = world.partition().state();
  *snapshot.mutable_app() = orchestrator::DescribeApp(state, world.now);
  for (auto& server : orchestrator::DescribeServers(state, world.now, "")) {
    *snapshot.add_servers() = std::move(server);
  }
  for (auto& shard : orchestrator::DescribeShards(state, "")) {
    *snapshot.add_shards() = std::move(shard);
  }
  return snapshot;
}

class WhatIfTest : public ::testing::Test {
 protected:
  static std::string Refusal(const v1::AppSnapshot& snapshot) {
    return std::string(Simulate(snapshot, {}).status().message());
  }
  void Start(v1::AppSpec spec) {
    world_.emplace(std::move(spec));
    world_->load = [](const std::string& shard, const std::string&) {
      return std::vector<MetricAmount>{{"cpu", 1.0 + std::stoi(shard.substr(2)) % 7}};
    };
    world_->Start();
    JoinAll(*world_);
    world_->Advance(Seconds(900));
  }
  v1::AppSnapshot Snapshot() { return SnapshotOf(*world_); }
  v1::WhatIfReport Ask(const v1::ImaginedChange& change) {
    auto report = Simulate(Snapshot(), change);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : v1::WhatIfReport();
  }

  std::optional<World> world_;
};

v1::ImaginedChange LoseRegion(const std::string& region) {
  v1::ImaginedChange change;
  change.add_lose()->mutable_domain()->set_region(region);
  return change;
}

std::map<std::string, std::set<std::string>> RegionsOf(const v1::AppSnapshot& snapshot) {
  std::map<std::string, std::set<std::string>> regions;
  for (const v1::ShardStatus& shard : snapshot.shards()) {
    for (const v1::ReplicaStatus& replica : shard.replicas()) {
      regions[shard.shard()].insert(replica.server().substr(0, replica.server().find('-')));
    }
  }
  return regions;
}

// As it stands in the end; fails the test, if it is not there.
v1::ServerStatus ServerIn(const v1::WhatIfReport& report, const std::string& name) {
  for (const v1::ServerStatus& server : report.placement().servers()) {
    if (server.server() == name) return server;
  }
  ADD_FAILURE() << "there is no server " << name;
  return {};
}

TEST_F(WhatIfTest, WithoutAChangeNothingMoves) {
  for (const auto strategy : {v1::SECONDARY_ONLY, v1::PRIMARY_SECONDARY}) {
    Start(Spread(60, strategy));
    const v1::WhatIfReport report = Ask({});
    EXPECT_TRUE(report.at_rest());
    EXPECT_LE(report.loads_begun_anyway(), 6u) << "as after a change of the leader";
    EXPECT_EQ(report.loads_begun(), 0u);
    EXPECT_EQ(report.replicas_added(), 0u);
    EXPECT_EQ(report.replicas_gone(), 0u);
    EXPECT_EQ(report.primaries_changed(), 0u);
    EXPECT_EQ(report.after().shards_served(), 60u);
    EXPECT_EQ(report.after().shards_degraded(), 0u);
    EXPECT_NEAR(report.after().metrics(1).mean(), report.before().metrics(1).mean(), 0.01);
  }
}

TEST_F(WhatIfTest, ALostRegionsReplicasGoToTheOthersAsTheyThenDo) {
  Start(Spread(60));
  const v1::WhatIfReport report = Ask(LoseRegion("east"));
  EXPECT_TRUE(report.at_rest());
  EXPECT_EQ(report.before().servers_live(), 12u);
  EXPECT_EQ(report.after().servers_live(), 8u);
  EXPECT_EQ(report.after().shards_served(), 60u);
  EXPECT_EQ(report.after().replicas_serving(), 120u);
  EXPECT_EQ(report.replicas_gone(), report.replicas_added());
  EXPECT_EQ(report.loads_begun(), report.replicas_added()) << "nothing goes to a server that dies";
  EXPECT_EQ(report.served_after_ms(), 0) << "each shard had a replica elsewhere";
  EXPECT_GE(report.at_rest_after_ms(), 1'000) << "a load takes a second";

  for (int i = 0; i < kServersEach; ++i) world_->Die(absl::StrCat("east-", i));
  world_->Advance(Seconds(1'800));
  EXPECT_EQ(RegionsOf(Snapshot()), RegionsOf(report.placement()));
}

TEST_F(WhatIfTest, ReplicasThatFollowTheirRequestsGoWhereMostOfTheRestComeFrom) {
  v1::AppSpec spec = TestSpec(30);
  spec.mutable_placement()->mutable_follow_demand()->set_mode(v1::DemandPolicy::FOLLOW);
  spec.mutable_placement()->mutable_follow_demand()->set_after_ms(300'000);
  world_.emplace(std::move(spec));
  world_->says.requests = [](const std::string&, const std::string&) {
    return std::vector<orchestrator::RequestsFrom>{{"east", 60}, {"west", 40}};
  };
  world_->Start();
  JoinAll(*world_);
  world_->Advance(Seconds(900));
  const v1::WhatIfReport report = Ask(LoseRegion("east"));
  for (const auto& [shard, regions] : RegionsOf(report.placement())) {
    EXPECT_EQ(regions, (std::set<std::string>{"west"})) << shard;
  }
  for (int i = 0; i < kServersEach; ++i) world_->Die(absl::StrCat("east-", i));
  world_->Advance(Seconds(1'800));
  EXPECT_EQ(RegionsOf(Snapshot()), RegionsOf(report.placement()));
}

TEST_F(WhatIfTest, WhereOnlyOneReplicaIsShardsAreUnservedUntilTheyAreLoaded) {
  Start(TestSpec(24, v1::PRIMARY_ONLY, 1));
  v1::ImaginedChange change = LoseRegion("west");
  change.set_load_ms(20'000);
  const v1::WhatIfReport report = Ask(change);
  EXPECT_EQ(report.after().shards_served(), 24u);
  EXPECT_GE(report.served_after_ms(), 20'000);
  EXPECT_LE(report.served_after_ms(), 25'000);
  EXPECT_EQ(report.primaries_changed(), report.replicas_added());
}

TEST_F(WhatIfTest, ADrainedServerIsEmptyAndLives) {
  Start(Spread(60));
  v1::ImaginedChange change;
  change.add_drain()->set_server("west-1");
  const v1::WhatIfReport report = Ask(change);
  EXPECT_EQ(report.after().servers_live(), 12u);
  EXPECT_EQ(report.after().replicas_serving(), 120u);
  ASSERT_EQ(report.placement().app().drains_size(), 1);
  EXPECT_EQ(report.placement().app().drains(0).reason(), "imagined");
  EXPECT_EQ(ServerIn(report, "west-1").replicas(), 0u);
  EXPECT_EQ(ServerIn(report, "west-1").state(), "drained");
}

TEST_F(WhatIfTest, ServersThatJoinTakeTheirShare) {
  Start(Spread(60));
  v1::ImaginedChange change;
  change.add_add()->set_count(6);
  const v1::WhatIfReport report = Ask(change);
  EXPECT_EQ(report.after().servers_live(), 18u);
  for (const v1::RegionOutlook& region : report.after().regions()) {
    EXPECT_EQ(region.servers_live(), 6u) << region.region();
  }
  EXPECT_NEAR(report.after().metrics(0).mean(), 120.0 / 18, 0.01);
  EXPECT_LE(report.after().metrics(0).most(), 9);
  EXPECT_GT(report.replicas_added(), 20u);
}

TEST_F(WhatIfTest, ServersThatJoinARegionAreLikeThoseThere) {
  world_.emplace(TestSpec(12));
  world_->Start();
  world_->Join("east-0", "east", /*capacity=*/20);
  world_->Join("west-0", "west", /*capacity=*/30);
  world_->Advance(Seconds(300));
  v1::ImaginedChange change;
  v1::AddedServers& added = *change.add_add();
  added.set_count(1);
  added.set_region("west");
  EXPECT_EQ(ServerIn(Ask(change), "added-1").capacity(), 30u);
}

// What a server can carry now, not what it registered.
TEST_F(WhatIfTest, ServersCanCarryWhatTheySayNow) {
  Start(Spread(60));
  world_->says.capacity = [](const std::string& server) {
    const bool small = server == "west-0";
    return small ? std::vector<MetricAmount>{{"cpu", 12}} : std::vector<MetricAmount>{};
  };
  world_->Advance(Seconds(900));
  const v1::ServerStatus small = ServerIn(Ask(LoseRegion("east")), "west-0");
  EXPECT_EQ(small.loads(0).capacity(), 12);
  EXPECT_LE(small.loads(0).used(), 12);
}

TEST_F(WhatIfTest, ACellThatIsNotAtRestInTimeIsNotWaitedFor) {
  Start(TestSpec(24, v1::PRIMARY_ONLY, 1));
  ImaginedCell cell(Snapshot(), /*load_time=*/Seconds(20));
  ASSERT_TRUE(cell.RunToRest(Seconds(120), Seconds(3'600)));
  const TimePoint begin = cell.now();
  for (int i = 0; i < kServersEach; ++i) cell.Lose(absl::StrCat("west-", i));
  EXPECT_FALSE(cell.RunToRest(Seconds(120), Seconds(5)));
  EXPECT_LE(cell.now() - begin, Seconds(5));
}

TEST_F(WhatIfTest, LoadsAreAsManyTimesAsHighAndWhatIsTooMuchIsSaid) {
  Start(Spread(60));
  v1::ImaginedChange change;
  change.set_load_factor(2.5);
  const v1::WhatIfReport report = Ask(change);
  const v1::MetricOutlook& before = report.before().metrics(1);
  const v1::MetricOutlook& after = report.after().metrics(1);
  EXPECT_EQ(after.metric(), "cpu");
  EXPECT_NEAR(after.mean(), 2.5 * before.mean(), 0.02 * after.mean());
  EXPECT_EQ(before.servers_over(), 0u);
  EXPECT_EQ(after.servers_over(), 12u) << after.mean();
  EXPECT_GT(after.most_pct(), 90);
}

TEST_F(WhatIfTest, AnotherSpecIsFollowed) {
  Start(Spread(60));
  v1::ImaginedChange change;
  *change.mutable_spec() = Snapshot().app().spec();
  change.mutable_spec()->mutable_replication()->set_replicas(3);
  const v1::WhatIfReport report = Ask(change);
  EXPECT_EQ(report.after().replicas_serving(), 180u);
  EXPECT_EQ(report.replicas_added(), 60u);
  EXPECT_EQ(report.replicas_gone(), 0u);
}

TEST_F(WhatIfTest, WhatHasNoPlaceIsSaid) {
  Start(Spread(60));
  v1::ImaginedChange change = LoseRegion("east");
  change.add_lose()->mutable_domain()->set_region("west");
  const v1::WhatIfReport report = Ask(change);
  EXPECT_TRUE(report.at_rest());
  EXPECT_EQ(report.after().shards_served(), 60u);
  EXPECT_EQ(report.after().shards_degraded(), 60u);
  EXPECT_GT(report.after().conditions_size(), 0);
}

TEST_F(WhatIfTest, IsDeterministic) {
  Start(Spread(60));
  EXPECT_EQ(Ask(LoseRegion("east")).SerializeAsString(),
            Ask(LoseRegion("east")).SerializeAsString());
}

// ---- how many servers are needed ----

TEST_F(WhatIfTest, WithRoomToSpareNoServerIsNeeded) {
  Start(Spread(60));
  const auto report = PlanCapacity(Snapshot(), {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->servers_added(), 0u);
  ASSERT_EQ(report->regions_size(), 3);
  EXPECT_EQ(report->regions(0).region(), "central");
  EXPECT_EQ(report->regions(0).servers_live(), 4u);
  EXPECT_EQ(report->regions(0).servers_needed(), 4u);
  EXPECT_EQ(report->regions(0).if_lost().servers_live(), 8u);
}

TEST_F(WhatIfTest, AsManyServersAreNeededAsTheLoadOfALostRegionTakes) {
  Start(Spread(60));
  // 60 shards of 4 on average, twice: 480, times 2. Two regions carry it with 90 of each
  // server: 11.
  v1::CapacityQuestion question;
  question.set_load_factor(2);
  int losses = 0;
  const auto report = PlanCapacity(Snapshot(), question, [&] { ++losses; });
  ASSERT_TRUE(report.ok()) << report.status();
  uint32_t least_of_two = 100, all = 0;
  for (const v1::RegionCapacity& region : report->regions()) {
    EXPECT_EQ(region.if_lost().metrics(1).servers_over(), 0u) << region.region();
    EXPECT_LE(region.if_lost().metrics(1).most_pct(), 90) << region.region();
    EXPECT_EQ(region.if_lost().shards_degraded(), 0u) << region.region();
    all += region.servers_needed();
  }
  for (const v1::RegionCapacity& region : report->regions()) {
    least_of_two = std::min(least_of_two, all - region.servers_needed());
  }
  EXPECT_GE(least_of_two, 11u) << "whichever is lost";
  EXPECT_LE(least_of_two, 14u);
  EXPECT_GT(losses, 3);
  // One server fewer where some were added is not enough.
  EXPECT_EQ(report->servers_added() + 12, all);
}

TEST_F(WhatIfTest, WhatNoNumberOfServersHelpsIsSaid) {
  Start(Spread(60));
  v1::CapacityQuestion question;
  question.set_load_factor(100);
  question.set_most_added(2);
  const absl::Status status = PlanCapacity(Snapshot(), question).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("with 2 more servers in each region, the loss of central still breaks a "
                        "limit: "));
  question.set_most_added(1'001);
  EXPECT_EQ(PlanCapacity(Snapshot(), question).status().message(),
            "most_added: found 1001; allowed: 0 to 1000");
}

TEST_F(WhatIfTest, ReplicasThatCannotBeAreNotAskedOfServers) {
  v1::AppSpec spec = TestSpec(12, v1::SECONDARY_ONLY, 3);
  spec.mutable_placement()->set_spread(v1::REGION);
  Start(spec);  // with two regions left there are two replicas of each
  const auto report = PlanCapacity(Snapshot(), {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->servers_added(), 0u);
  EXPECT_EQ(report->regions(0).if_lost().shards_degraded(), 12u);
}

TEST_F(WhatIfTest, OneRegionHasNoOtherOneToLoseItTo) {
  world_.emplace(TestSpec(6));
  world_->Start();
  world_->Join("kv-0", "east");
  world_->Advance(Seconds(60));
  EXPECT_EQ(PlanCapacity(Snapshot(), {}).status().code(), absl::StatusCode::kFailedPrecondition);
  world_->Join("kv-1", "");
  world_->Advance(Seconds(60));
  EXPECT_EQ(PlanCapacity(Snapshot(), {}).status().message(),
            "found 1 live server without a region; allowed: all of them in regions");
}

// ---- what a snapshot comes to ----

TEST(OutlookTest, OfTwoServersTheFullerOneIsThe99thPercentile) {
  v1::AppSnapshot snapshot;
  for (const uint32_t replicas : {100u, 0u}) {
    v1::ServerStatus& server = *snapshot.add_servers();
    server.set_server(absl::StrCat("kv-", replicas));
    server.set_state("live");
    server.set_replicas(replicas);
    server.set_capacity(200);
  }
  snapshot.add_servers()->set_state("lost");  // is not counted
  const v1::MetricOutlook replicas = OutlookOf(snapshot).metrics(0);
  EXPECT_EQ(replicas.mean(), 50);
  EXPECT_EQ(replicas.p50(), 0);
  EXPECT_EQ(replicas.p99(), 100);
  EXPECT_EQ(replicas.most(), 100);
  EXPECT_EQ(replicas.most_server(), "kv-100");
  EXPECT_EQ(replicas.most_pct(), 50);
  snapshot.mutable_app()->mutable_spec()->mutable_placement()->set_max_replicas_per_server(125);
  EXPECT_EQ(OutlookOf(snapshot).metrics(0).most_pct(), 80) << "the tighter cap counts";
}

// One that is leaving is the primary no more.
TEST(OutlookTest, APrimaryThatHasTakenOverBeforeIsNoChange) {
  const auto snapshot = [](const std::vector<std::pair<const char*, const char*>>& replicas) {
    v1::AppSnapshot made;
    v1::ShardStatus& shard = *made.add_shards();
    shard.set_shard("s-0");
    for (const auto& [server, state] : replicas) {
      v1::ReplicaStatus& replica = *shard.add_replicas();
      replica.set_server(server);
      replica.set_role(v1::PRIMARY);
      replica.set_state(state);
    }
    return made;
  };
  v1::WhatIfReport report;
  CountDifferences(snapshot({{"kv-1", "dropping"}, {"kv-2", "serving"}}),
                   snapshot({{"kv-2", "serving"}}), report);
  EXPECT_EQ(report.primaries_changed(), 0u);
  CountDifferences(snapshot({{"kv-1", "serving"}}), snapshot({{"kv-2", "serving"}}), report);
  EXPECT_EQ(report.primaries_changed(), 1u);
}

// ---- what is refused ----

TEST_F(WhatIfTest, APlaceWithoutServersIsRefused) {
  Start(Spread(6));
  const absl::Status status = Simulate(Snapshot(), LoseRegion("north")).status();
  EXPECT_EQ(status.message(),
            "lose[0]: found region north, where no server is live; allowed: a place with live "
            "servers");
}

TEST_F(WhatIfTest, FieldsOutOfRangeAreRefused) {
  Start(Spread(6));
  v1::ImaginedChange change;
  change.add_add();
  change.set_load_factor(-1);
  change.set_load_ms(100'000'000);
  const std::string message(Simulate(Snapshot(), change).status().message());
  EXPECT_THAT(message, HasSubstr("add.count: found 0; allowed: 1 to 10000 in all"));
  EXPECT_THAT(message, HasSubstr("load_factor: found -1; allowed: above 0 to 1000"));
  EXPECT_THAT(message, HasSubstr("load_ms: found 100000000; allowed: 0 to 86400000"));
}

TEST_F(WhatIfTest, ASpecThatMayNotReplaceTheOldOneIsRefused) {
  Start(Spread(6));
  v1::ImaginedChange change;
  *change.mutable_spec() = Snapshot().app().spec();
  change.mutable_spec()->set_name("other");
  EXPECT_THAT(std::string(Simulate(Snapshot(), change).status().message()),
              HasSubstr("spec.name: found"));
}

TEST_F(WhatIfTest, ASnapshotThatContradictsItselfIsRefused) {
  Start(Spread(6));
  v1::AppSnapshot snapshot = Snapshot();
  snapshot.mutable_shards(0)->mutable_replicas(0)->set_server("nobody");
  EXPECT_THAT(std::string(Simulate(snapshot, {}).status().message()),
              HasSubstr("shards: \"s-0\": replicas: found server \"nobody\"; allowed: each of "
                        "`servers`, once for a shard"));
  snapshot = Snapshot();
  *snapshot.add_servers() = snapshot.servers(0);
  EXPECT_THAT(std::string(Simulate(snapshot, {}).status().message()), HasSubstr("servers: found"));
  EXPECT_FALSE(Simulate({}, {}).ok());
}

TEST_F(WhatIfTest, NumbersAndStatesThatCannotBeAreRefused) {
  Start(Spread(6));
  v1::AppSnapshot snapshot = Snapshot();
  snapshot.mutable_servers(0)->mutable_loads(0)->set_used(std::nan(""));
  EXPECT_THAT(Refusal(snapshot), HasSubstr("servers: \"central-0\": loads of \"cpu\": found nan; "
                                           "allowed: 0 to 1e12"));
  snapshot = Snapshot();
  snapshot.mutable_servers(0)->set_state("Live");
  EXPECT_THAT(Refusal(snapshot), HasSubstr("found state \"Live\""));
  snapshot = Snapshot();
  snapshot.mutable_shards(0)->mutable_replicas(0)->set_role(v1::PRIMARY);
  EXPECT_THAT(Refusal(snapshot), HasSubstr("found role primary; allowed: one that "
                                           "replication.strategy has"));
  snapshot = Snapshot();
  snapshot.mutable_shards(0)->mutable_demand()->add_regions()->set_share(std::nan(""));
  EXPECT_THAT(Refusal(snapshot), HasSubstr("demand of \"\": found share nan; allowed: 0 to 1"));
  snapshot = Snapshot();
  snapshot.mutable_app()->mutable_spec()->set_orchestrator(v1::APPLICATION);
  EXPECT_THAT(Refusal(snapshot), HasSubstr("app.spec.orchestrator: found application"));
}

// ---- snapshots of a moment, and by hand ----

TEST_F(WhatIfTest, ASpecWithoutItsDefaultsHasThem) {
  Start(Spread(60));
  v1::AppSnapshot snapshot = Snapshot();
  snapshot.mutable_app()->mutable_spec()->clear_moves();
  snapshot.mutable_app()->mutable_spec()->clear_failover();
  const auto report = Simulate(snapshot, LoseRegion("east"));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->after().replicas_serving(), 120u);
}

TEST_F(WhatIfTest, OfTwoPrimariesTheOneThatServesGoesOn) {
  Start(Spread(6, v1::PRIMARY_SECONDARY));
  v1::AppSnapshot snapshot = Snapshot();
  v1::ShardStatus& shard = *snapshot.mutable_shards(0);
  // One was lost, and its successor is elected.
  for (v1::ReplicaStatus& replica : *shard.mutable_replicas()) replica.set_role(v1::PRIMARY);
  shard.mutable_replicas(0)->set_state("unreachable");
  const auto report = Simulate(snapshot, {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->after().shards_served(), 6u);
  shard.mutable_replicas(0)->set_state("serving");  // by hand: never so
  EXPECT_TRUE(Simulate(snapshot, LoseRegion("east")).ok());
}

TEST_F(WhatIfTest, WhatFailsToLoadIsLoadedAnew) {
  Start(Spread(6));
  v1::AppSnapshot snapshot = Snapshot();
  snapshot.mutable_shards(0)->mutable_replicas(0)->set_state("failed");
  const auto report = Simulate(snapshot, {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_GE(report->loads_begun_anyway(), 1u);
  EXPECT_EQ(report->after().replicas_serving(), 12u);
}

// ---- together with other rules ----

TEST_F(WhatIfTest, SeveralChangesHappenAtOnce) {
  Start(Spread(60));
  v1::ImaginedChange change = LoseRegion("east");
  change.add_add()->set_count(4);
  change.mutable_add(0)->set_region("west");
  const v1::WhatIfReport report = Ask(change);
  EXPECT_EQ(report.after().servers_live(), 12u);
  EXPECT_EQ(report.after().shards_degraded(), 0u);
  EXPECT_EQ(report.after().replicas_serving(), 120u);
}

TEST_F(WhatIfTest, TheNumberOfReplicasFollowsALoadThatTheyShare) {
  v1::AppSpec spec = TestSpec(12, v1::SECONDARY_ONLY, 2);
  spec.add_metrics()->set_name("cpu");
  spec.mutable_scaling()->set_metric("cpu");
  spec.mutable_scaling()->set_target(5);
  spec.mutable_scaling()->set_max_replicas(6);
  spec.mutable_scaling()->set_max_changes_per_minute("100");
  world_.emplace(WithDefaults(spec));
  world_->load = [this](const std::string& shard, const std::string&) {
    const double replicas = static_cast<double>(std::max<size_t>(1, world_->Holders(shard).size()));
    return std::vector<MetricAmount>{{"cpu", 10 / replicas}};
  };
  world_->Start();
  JoinAll(*world_);
  world_->Advance(Seconds(900));

  v1::ImaginedChange change;
  change.set_load_factor(2);
  v1::WhatIfReport report = Ask(change);
  EXPECT_EQ(report.before().replicas_serving(), 24u);
  EXPECT_EQ(report.after().replicas_serving(), 48u) << "20 of each shard, 5 of a replica";
  EXPECT_NEAR(report.after().metrics(1).mean(), 20, 0.5);
  // Without the policy, all is carried by two again.
  *change.mutable_spec() = Snapshot().app().spec();
  change.mutable_spec()->clear_scaling();
  report = Ask(change);
  EXPECT_EQ(report.after().replicas_serving(), 24u);
  EXPECT_NEAR(report.after().metrics(1).mean(), 20, 0.5);
}

TEST_F(WhatIfTest, APausedAppStaysAsItIs) {
  Start(Spread(60));
  v1::AppSnapshot snapshot = Snapshot();
  snapshot.mutable_app()->mutable_pause()->set_who("jo");
  const auto report = Simulate(snapshot, LoseRegion("east"));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->loads_begun(), 0u);
  EXPECT_GT(report->after().shards_degraded(), 0u);
  EXPECT_GT(report->replicas_gone(), 0u) << "those of the lost servers";
}

}  // namespace
}  // namespace shardmanager::whatif
