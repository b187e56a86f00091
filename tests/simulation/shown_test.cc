// The checker of what is shown: what it lets pass, and what not.
#include "tests/simulation/shown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace shardmanager::simulation {
namespace {

using testing::HasSubstr;

v1::AppSpec TwoReplicas() {
  v1::AppSpec spec;
  for (const char* id : {"s-0", "s-1"}) spec.mutable_key_space()->add_shards()->set_id(id);
  spec.mutable_replication()->set_strategy(v1::PRIMARY_SECONDARY);
  spec.mutable_replication()->set_replicas(2);
  return spec;
}

class ShownTest : public testing::Test {
 protected:
  // Of s-0; s-1 is served. The leader is asked five times a second, and for so long. Returns what
  // is wrong with its answers.
  std::string ShowShard(const std::string& state, const Admitting& admitting, Duration time) {
    v1::GetShardsResponse shown;
    for (const char* id : {"s-0", "s-1"}) shown.add_shards()->set_shard(id);
    shown.mutable_shards(0)->set_state(state);
    shown.mutable_shards(1)->set_state("serving");
    return Ask(admitting, time,
               [&](const auto& moment) { return shown_.LookAtShards(moment, shown); });
  }
  // So many of both shards are served.
  std::string ShowApp(uint32_t served, const std::string& condition, const Admitting& admitting,
                      Duration time) {
    v1::AppStatus shown;
    shown.set_shards(2);
    shown.set_shards_served(served);
    if (!condition.empty()) shown.add_conditions(condition);
    return Ask(admitting, time,
               [&](const auto& moment) { return shown_.LookAtApp(moment, shown); });
  }
  // Of the cell; "": nothing is wrong.
  std::string ShowStatus(const std::string& reason, const Admitting& admitting, Duration time,
                         v1::Problem::Severity severity = v1::Problem::CRITICAL) {
    v1::GetStatusResponse shown;
    if (!reason.empty()) {
      v1::Problem& problem = *shown.add_problems();
      problem.set_app(spec_.name());
      problem.set_reason(reason);
      problem.set_severity(severity);
    }
    return Ask(admitting, time,
               [&](const auto& moment) { return shown_.LookAtStatus(moment, shown); });
  }
  std::string Ask(const Admitting& admitting, Duration time,
                  const std::function<std::string(const ShownChecker::Moment&)>& look) {
    std::string lie;
    for (Duration passed{}; passed < time && lie.empty(); passed += Milliseconds(200)) {
      now_ += Milliseconds(200);
      lie = look({now_, leader_, Seconds(5), spec_, admitting});
    }
    return lie;
  }
  static Admitting Without(const std::string& server) {
    Admitting admitting{{"s-0", {{"kv-0", Role::kPrimary}, {"kv-1", Role::kSecondary}}},
                        {"s-1", {{"kv-1", Role::kPrimary}, {"kv-2", Role::kSecondary}}}};
    admitting["s-0"].erase(server);
    return admitting;
  }

  const v1::AppSpec spec_ = TwoReplicas();
  TimePoint now_{Seconds(100)};
  int32_t leader_ = 1;
  ShownChecker shown_;
};

TEST_F(ShownTest, NothingIsWrongWithWhatIsSo) {
  EXPECT_EQ(ShowShard("serving", Without("none"), Seconds(60)), "");
  EXPECT_EQ(ShowShard("degraded", Without("kv-1"), Seconds(60)), "");
  EXPECT_EQ(ShowShard("unserved", Without("kv-0"), Seconds(60)), "");
  EXPECT_EQ(ShowApp(2, "", Without("kv-1"), Seconds(60)), "");
  EXPECT_EQ(ShowApp(1, "1 shard without a primary", Without("kv-0"), Seconds(60)), "");
  EXPECT_EQ(ShowStatus("", Without("kv-1"), Seconds(60)), "");
  EXPECT_EQ(ShowStatus("ShardsUnserved", Without("kv-0"), Seconds(60)), "");
}

TEST_F(ShownTest, GreenForRedIsFound) {
  Admitting admitting = Without("kv-0");
  admitting["s-0"]["kv-2"] = Role::kSecondary;
  EXPECT_THAT(ShowShard("serving", admitting, Seconds(6)), HasSubstr("nobody would serve"));
}

TEST_F(ShownTest, YellowForRedIsFound) {
  EXPECT_THAT(ShowShard("degraded", Without("kv-0"), Seconds(6)), HasSubstr("nobody would serve"));
}

TEST_F(ShownTest, GreenForYellowIsFound) {
  EXPECT_THAT(ShowShard("serving", Without("kv-1"), Seconds(6)), HasSubstr("fewer than 2"));
}

TEST_F(ShownTest, AnAppWithTooManyServedShardsIsFound) {
  EXPECT_THAT(ShowApp(2, "slow", Without("kv-0"), Seconds(11)), HasSubstr("shown as served than"));
}

TEST_F(ShownTest, AnUnservedShardWithoutAConditionIsFound) {
  EXPECT_THAT(ShowApp(1, "", Without("kv-0"), Seconds(11)), HasSubstr("without a condition"));
}

TEST_F(ShownTest, AStatusThatNamesNoProblemOfAnUnservedShardIsFound) {
  EXPECT_THAT(ShowStatus("", Without("kv-0"), Seconds(11)), HasSubstr("no critical problem"));
  EXPECT_THAT(ShowStatus("ReplicasMissing", Without("kv-0"), Seconds(11), v1::Problem::WARNING),
              HasSubstr("no critical problem"));
}

TEST_F(ShownTest, ALeaderMayTakeAWhileToHearOfIt) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ShowShard("serving", Without("kv-0"), Seconds(4)), "");
    ++leader_;  // another one, who is to hear of it first, too
  }
  EXPECT_EQ(ShowShard("serving", Without("none"), Seconds(4)), "");
  EXPECT_EQ(ShowShard("serving", Without("kv-0"), Seconds(4)), "");
}

TEST_F(ShownTest, AReplicaThatRefusesIsFound) {
  v1::GetShardsResponse shards;
  v1::ShardStatus& shard = *shards.add_shards();
  shard.set_shard("s-0");
  shard.set_state("degraded");
  v1::ReplicaStatus& replica = *shard.add_replicas();
  replica.set_server("kv-1");
  replica.set_role(v1::PRIMARY);
  replica.set_state("serving");
  EXPECT_THAT(Ask(Without("none"), Seconds(6),
                  [&](const auto& moment) { return shown_.LookAtShards(moment, shards); }),
              HasSubstr("served by kv-1 as PRIMARY"));
}

}  // namespace
}  // namespace shardmanager::simulation
