// What the checker of planned events lets pass, and what not.
#include "tests/simulation/checkers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <set>
#include <string>

#include "tests/simulation/small_cluster.h"

namespace shardmanager::simulation {
namespace {

using testing::HasSubstr;

v1::AppSpec Spec(v1::ReplicationStrategy strategy, uint32_t replicas) {
  v1::AppSpec spec;
  spec.set_name(kApp);
  spec.mutable_key_space()->add_shards()->set_id("s-0");
  spec.mutable_key_space()->add_shards()->set_id("s-1");
  spec.mutable_replication()->set_strategy(strategy);
  spec.mutable_replication()->set_replicas(replicas);
  return spec;
}

class PlannedEventTest : public testing::Test {
 protected:
  PlannedEventTest() {
    spdlog::set_level(spdlog::level::off);
    checkers_.Watch(cluster_);
  }
  // For so long s-0 is served by these only, and s-1 by two.
  void Serve(const v1::AppSpec& spec, const std::set<std::string>& servers, Duration time) {
    for (Duration passed{}; passed < time; passed += Milliseconds(200)) {
      const TimePoint end = cluster_.schedule.now() + Milliseconds(200);
      while (cluster_.schedule.RunNext(end)) cluster_.store.Kick();
      Checkers::Serving serving{{"s-1", {"kv-0", "kv-1"}}};
      if (!servers.empty()) serving["s-0"] = servers;
      checkers_.ExpectFullService(spec, serving, std::nullopt);
    }
  }

  Checkers checkers_;
  Cluster cluster_{SmallCluster(1, 0, Seconds(4)), 1, checkers_, [](uint64_t, bool) {}};
};

TEST_F(PlannedEventTest, AReplicaThatChangesItsRoleIsMissingForFiveSecondsAtMost) {
  const v1::AppSpec spec = Spec(v1::PRIMARY_SECONDARY, 2);
  checkers_.Promise(spec);
  Serve(spec, {"kv-0"}, Seconds(3));
  Serve(spec, {"kv-0", "kv-1"}, Seconds(60));
  EXPECT_EQ(checkers_.violation(), "");
  Serve(spec, {"kv-0"}, Seconds(3));
  EXPECT_THAT(checkers_.violation(), HasSubstr("s-0"));
}

TEST_F(PlannedEventTest, EachEventHasItsFiveSeconds) {
  const v1::AppSpec spec = Spec(v1::PRIMARY_SECONDARY, 2);
  for (int i = 0; i < 3; ++i) {
    checkers_.Promise(spec);
    Serve(spec, {"kv-0"}, Seconds(3));
  }
  EXPECT_EQ(checkers_.violation(), "");
}

TEST_F(PlannedEventTest, NeverAreTwoMissing) {
  const v1::AppSpec spec = Spec(v1::PRIMARY_SECONDARY, 2);
  checkers_.Promise(spec);
  Serve(spec, {}, Milliseconds(200));
  EXPECT_THAT(checkers_.violation(), HasSubstr("s-0 is served by 0 servers of 2"));
}

TEST_F(PlannedEventTest, ASecondaryWithoutAPrimaryIsNeverMissing) {
  const v1::AppSpec spec = Spec(v1::SECONDARY_ONLY, 2);
  checkers_.Promise(spec);
  Serve(spec, {"kv-0"}, Milliseconds(200));
  EXPECT_THAT(checkers_.violation(), HasSubstr("s-0 is served by 1 servers of 2"));
}

TEST_F(PlannedEventTest, ALonePrimaryIsClosedForFiveSecondsAtMost) {
  const v1::AppSpec spec = Spec(v1::PRIMARY_ONLY, 1);
  checkers_.Promise(spec);
  Serve(spec, {}, Seconds(3));
  EXPECT_EQ(checkers_.violation(), "");
  Serve(spec, {}, Seconds(3));
  EXPECT_THAT(checkers_.violation(), HasSubstr("s-0"));
}

}  // namespace
}  // namespace shardmanager::simulation
