// Replicas stand in the regions that their requests come from.
#include "orchestrator/decide/load/demand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "orchestrator/describe/status.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Pair;

using ByRegion = std::map<std::string, uint64_t>;

// Three regions of two servers each: a-0, a-1, b-0... What follows is decided after five minutes.
class DemandTest : public ::testing::Test {
 protected:
  static v1::AppSpec Spec(int shards, v1::ReplicationStrategy strategy = v1::PRIMARY_ONLY,
                          uint32_t replicas = 1) {
    v1::AppSpec spec = TestSpec(shards, strategy, replicas);
    v1::DemandPolicy& demand = *spec.mutable_placement()->mutable_follow_demand();
    demand.set_mode(v1::DemandPolicy::FOLLOW);
    demand.set_after_ms(300'000);
    return spec;
  }

  void Start(v1::AppSpec spec) {
    world_.emplace(std::move(spec));
    // Requests come at the replica that answers; here at the first one that is asked.
    world_->says.requests = [this](const std::string& shard, const std::string& server) {
      std::vector<RequestsFrom> requests;
      if (world_->Holders(shard).front() != server) return requests;
      for (const auto& [region, count] : asked_[shard]) requests.push_back({region, count});
      return requests;
    };
    world_->Start();
    for (const char* region : {"a", "b", "c"}) {
      for (int i = 0; i < 2; ++i) world_->Join(absl::StrCat(region, "-", i), region);
    }
    world_->Advance(Seconds(60));
  }

  // From now on clients send so many requests between two reports.
  void Ask(const std::string& shard, ByRegion requests) { asked_[shard] = std::move(requests); }
  // How many replicas of the shard each region has.
  std::map<std::string, int> Stands(const std::string& shard) {
    std::map<std::string, int> stands;
    for (const std::string& server : world_->Holders(shard)) ++stands[server.substr(0, 1)];
    return stands;
  }
  std::string Primary(const std::string& shard) {
    for (const std::string& server : world_->Roles(shard)) {
      if (server.back() == '*') return server.substr(0, 1);
    }
    return "";
  }
  v1::ShardStatus Status(size_t shard) { return DescribeShard(world_->partition().state(), shard); }
  std::string Says(size_t shard = 0) { return Status(shard).demand().message(); }
  size_t Moves() { return world_->NoteCount(NoteKind::kMoveStarted); }
  World& world() { return *world_; }

 private:
  std::optional<World> world_;
  std::map<std::string, ByRegion> asked_;
};

TEST_F(DemandTest, AShardGoesToTheRegionOfMostOfItsRequests) {
  Start(Spec(12));
  for (int i = 0; i < 12; ++i) Ask(absl::StrCat("s-", i), {{"b", 70}, {"c", 30}});
  world().Advance(Seconds(240));
  EXPECT_EQ(world().NoteCount(NoteKind::kDemandFollowed), 0U) << "that may pass";
  world().Advance(Seconds(240));
  for (int i = 0; i < 12; ++i) {
    EXPECT_THAT(Stands(absl::StrCat("s-", i)), ElementsAre(Pair("b", 1))) << i;
  }
  EXPECT_THAT(world().NoteCount(NoteKind::kDemandFollowed), AllOf(Ge(1U), Le(3U)))
      << "one note for all that follows from one look";
  EXPECT_EQ(Status(0).preferred_region(), "b");
  EXPECT_TRUE(Status(0).preference_by_demand());
  EXPECT_TRUE(Status(0).preference_met());
  EXPECT_EQ(Says(), "70% of the requests come from b, 30% from c: 1 replica is to stand in b");
}

TEST_F(DemandTest, ReplicasStandInProportionToTheRequestsAndThePrimaryWhereMostAre) {
  Start(Spec(3, v1::PRIMARY_SECONDARY, 4));
  Ask("s-0", {{"c", 55}, {"a", 45}});
  Ask("s-1", {{"a", 40}, {"b", 32}, {"c", 28}});
  Ask("s-2", {{"b", 100}});
  world().Advance(Seconds(900));
  EXPECT_THAT(Stands("s-0"), ElementsAre(Pair("a", 2), Pair("c", 2)));
  EXPECT_EQ(Primary("s-0"), "c");
  EXPECT_EQ(Primary("s-1"), "a");
  EXPECT_THAT(Stands("s-1"), ElementsAre(Pair("a", 2), Pair("b", 1), Pair("c", 1)));
  // (The two servers of a region hold two replicas at most.)
  EXPECT_EQ(Stands("s-2").at("b"), 2);
  EXPECT_EQ(Primary("s-2"), "b");
}

// All of its requests come from there, and still the loss of the region must not be its end.
TEST_F(DemandTest, ARegionIsNotGivenAllReplicasNorAMajorityOfAQuorum) {
  Start(Spec(1, v1::SECONDARY_ONLY, 2));
  Ask("s-0", {{"a", 100}});
  world().Advance(Seconds(900));
  EXPECT_EQ(Stands("s-0").at("a"), 1);
  EXPECT_EQ(Stands("s-0").size(), 2U);

  v1::AppSpec spec = Spec(1, v1::PRIMARY_SECONDARY, 3);
  spec.mutable_replication()->set_quorum(true);
  Start(spec);
  Ask("s-0", {{"b", 100}});
  world().Advance(Seconds(900));
  EXPECT_EQ(Stands("s-0").size(), 3U);
  EXPECT_EQ(Primary("s-0"), "b");
}

TEST_F(DemandTest, RequestsThatSwingToAndFroMoveNothing) {
  Start(Spec(6));
  for (int i = 0; i < 6; ++i) Ask(absl::StrCat("s-", i), {{"a", 80}, {"b", 20}});
  world().Advance(Seconds(7'200));  // the two servers of the region are balanced, too
  const size_t moves = Moves();
  for (int minute = 0; minute < 60; ++minute) {
    const bool to_b = minute % 4 < 2;  // for two minutes
    for (int i = 0; i < 6; ++i) {
      Ask(absl::StrCat("s-", i),
          to_b ? ByRegion{{"b", 80}, {"a", 20}} : ByRegion{{"a", 80}, {"b", 20}});
    }
    world().Advance(Seconds(60));
  }
  EXPECT_EQ(Moves(), moves);
  for (int i = 0; i < 6; ++i) Ask(absl::StrCat("s-", i), {{"a", 52}, {"b", 48}});
  world().Advance(Seconds(1'800));
  for (int i = 0; i < 6; ++i) Ask(absl::StrCat("s-", i), {{"a", 45}, {"b", 55}});
  world().Advance(Seconds(1'800));
  EXPECT_EQ(Moves(), moves) << "a little more is not worth a move";
}

// Of requests that are just enough to decide by, at times too few are counted.
TEST_F(DemandTest, ALullPutsOffAndDoesNotBeginAnew) {
  Start(Spec(1));
  for (int minute = 0; minute < 12; ++minute) {
    Ask("s-0", minute % 3 == 2 ? ByRegion{} : ByRegion{{"b", 8}});
    world().Advance(Seconds(60));
  }
  EXPECT_THAT(Stands("s-0"), ElementsAre(Pair("b", 1)));
}

TEST_F(DemandTest, FewRequestsDecideNothingAndThatIsSaid) {
  Start(Spec(1));
  Ask("s-0", {{"a", 1}, {"b", 1}});
  world().Advance(Seconds(3'600));
  EXPECT_EQ(world().NoteCount(NoteKind::kDemandFollowed), 0U);
  EXPECT_EQ(Status(0).demand().state(), "Unknown");
  EXPECT_THAT(Says(),
              HasSubstr("requests that say where they come from were counted lately, 25 are "
                        "needed: replicas stand anywhere"));
}

TEST_F(DemandTest, WhatIsOrderedGoesBeforeWhatRequestsAskFor) {
  Start(Spec(1, v1::SECONDARY_ONLY, 3));
  Ask("s-0", {{"b", 70}, {"c", 30}});
  world().Advance(Seconds(900));
  EXPECT_THAT(Stands("s-0"), ElementsAre(Pair("b", 2), Pair("c", 1)));
  auto& ordered = *world().ordered.preferences.add_regions();
  ordered.set_region("a");
  ordered.set_weight(1);
  ordered.add_shards("s-0");
  world().Apply(Spec(1, v1::SECONDARY_ONLY, 3));
  world().Advance(Seconds(60));
  EXPECT_THAT(Stands("s-0"), ElementsAre(Pair("a", 1), Pair("b", 1), Pair("c", 1)));
  EXPECT_EQ(Status(0).preferred_region(), "a");
  EXPECT_FALSE(Status(0).preference_by_demand());
}

// Found by the simulation (seed 81): the next leader took where the shard stood for what its
// requests ask for, as much as for what was ordered, and moved nothing.
TEST_F(DemandTest, WhatIsOrderedGoesBeforeWhereAShardStandsForANewLeaderToo) {
  Start(Spec(1));
  Ask("s-0", {{"b", 100}});
  world().Advance(Seconds(900));
  ASSERT_THAT(Stands("s-0"), ElementsAre(Pair("b", 1)));
  auto& ordered = *world().ordered.preferences.add_regions();
  ordered.set_region("a");
  ordered.set_weight(1);
  ordered.add_shards("s-0");
  world().Restart();
  world().Advance(Seconds(20));
  EXPECT_THAT(Stands("s-0"), ElementsAre(Pair("a", 1)));
  world().ordered.preferences.Clear();
  world().Apply(Spec(1));
  world().Advance(Seconds(900));
  EXPECT_THAT(Stands("s-0"), ElementsAre(Pair("b", 1)));
}

TEST_F(DemandTest, TheAppsPreferredRegionCountsUntilRequestsAreKnown) {
  v1::AppSpec spec = Spec(2);
  spec.mutable_placement()->set_preferred_region("c");
  Start(spec);
  EXPECT_THAT(Stands("s-0"), ElementsAre(Pair("c", 1)));
  Ask("s-0", {{"a", 90}, {"c", 10}});
  world().Advance(Seconds(900));
  EXPECT_THAT(Stands("s-0"), ElementsAre(Pair("a", 1)));
  EXPECT_THAT(Stands("s-1"), ElementsAre(Pair("c", 1)));
  Ask("s-0", {});
  world().Advance(Seconds(3'600));
  EXPECT_THAT(Stands("s-0"), ElementsAre(Pair("c", 1))) << "nothing is known any more";
}

TEST_F(DemandTest, ANewLeaderKeepsReplicasWhereTheyStandUntilItKnowsBetter) {
  Start(Spec(6));
  for (int i = 0; i < 6; ++i) Ask(absl::StrCat("s-", i), {{"a", 80}, {"b", 20}});
  world().Advance(Seconds(7'200));  // the two servers of the region are balanced, too
  const size_t moves = Moves();
  world().hold_collects = true;
  world().Restart();
  world().Advance(Seconds(240));
  EXPECT_THAT(Says(), HasSubstr("replicas stay there"));
  world().hold_collects = false;
  world().Advance(Seconds(3'600));
  EXPECT_EQ(Moves(), moves);
  for (int i = 0; i < 6; ++i) EXPECT_THAT(Stands(absl::StrCat("s-", i)), ElementsAre(Pair("a", 1)));
}

TEST_F(DemandTest, WhenARegionIsLostTheNextBestCountsAndAllReturnsWithIt) {
  Start(Spec(6));
  for (int i = 0; i < 6; ++i) Ask(absl::StrCat("s-", i), {{"a", 60}, {"c", 25}, {"b", 15}});
  world().Advance(Seconds(900));
  world().Die("a-0");
  world().Die("a-1");
  world().Advance(Seconds(60));
  for (int i = 0; i < 6; ++i) EXPECT_THAT(Stands(absl::StrCat("s-", i)), ElementsAre(Pair("c", 1)));
  world().Join("a-0", "a");
  world().Join("a-1", "a");
  world().Advance(Seconds(60));
  for (int i = 0; i < 6; ++i) EXPECT_THAT(Stands(absl::StrCat("s-", i)), ElementsAre(Pair("a", 1)));
}

TEST_F(DemandTest, RegionsWithoutServersAndNamesThatAreMadeUpCountForNothing) {
  Start(Spec(1));
  Ask("s-0", {{"mars", 1'000'000}, {"b", 50}});
  world().Advance(Seconds(900));
  EXPECT_THAT(Stands("s-0"), ElementsAre(Pair("b", 1)));
  EXPECT_EQ(Status(0).demand().regions_size(), 1);
}

TEST_F(DemandTest, WithRecommendItSaysWhatItWouldDoAndMovesNothing) {
  v1::AppSpec spec = Spec(1);
  spec.mutable_placement()->mutable_follow_demand()->set_mode(v1::DemandPolicy::RECOMMEND);
  spec.mutable_placement()->set_preferred_region("c");
  Start(spec);
  Ask("s-0", {{"a", 90}, {"c", 10}});
  world().Advance(Seconds(900));
  EXPECT_THAT(Stands("s-0"), ElementsAre(Pair("c", 1)));
  EXPECT_THAT(Says(), AllOf(HasSubstr("90% of the requests come from a"),
                            HasSubstr("1 replica is to stand in a"),
                            HasSubstr("nothing is done: mode RECOMMEND")));
}

TEST_F(DemandTest, WithoutThePolicyNothingFollowsAndNothingIsLeftOfIt) {
  Start(Spec(1));
  Ask("s-0", {{"b", 100}});
  world().Advance(Seconds(900));
  ASSERT_EQ(Status(0).preferred_region(), "b");
  world().Apply(TestSpec(1));
  EXPECT_EQ(Status(0).preferred_region(), "");
  EXPECT_FALSE(Status(0).has_demand());
  Ask("s-0", {{"c", 100}});
  world().Advance(Seconds(900));
  EXPECT_THAT(Stands("s-0"), ElementsAre(Pair("b", 1)));
}

// Where the number of replicas follows the load, those that come and go do so by region, too.
TEST_F(DemandTest, ReplicasForLoadComeWhereTheRequestsAre) {
  v1::AppSpec spec = Spec(1, v1::SECONDARY_ONLY, 1);
  spec.add_metrics()->set_name("cpu");
  spec.mutable_metrics(0)->set_threshold(0.9);
  spec.mutable_scaling()->set_metric("cpu");
  spec.mutable_scaling()->set_target(50);
  spec.mutable_scaling()->set_max_replicas(6);
  spec.mutable_scaling()->set_tolerance(0.1);
  spec.mutable_scaling()->set_down_after_ms(60'000);
  spec.mutable_scaling()->set_max_changes_per_minute("50");
  Start(spec);
  double load = 40;
  world().load = [&](const std::string& shard, const std::string&) {
    return std::vector<MetricAmount>{
        {"cpu", load / static_cast<double>(world().Holders(shard).size())}};
  };
  Ask("s-0", {{"b", 60}, {"c", 40}});
  world().Advance(Seconds(900));
  ASSERT_THAT(Stands("s-0"), ElementsAre(Pair("b", 1)));
  load = 190;
  world().Advance(Seconds(120));
  EXPECT_THAT(Stands("s-0"), ElementsAre(Pair("b", 2), Pair("c", 2)));
  load = 60;
  world().Advance(Seconds(600));
  EXPECT_THAT(Stands("s-0"), ElementsAre(Pair("b", 1), Pair("c", 1)));
}

}  // namespace
}  // namespace shardmanager::orchestrator
