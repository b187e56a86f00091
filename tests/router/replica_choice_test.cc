#include "router/replica_choice.h"

#include <gtest/gtest.h>

#include <map>

#include "router/map_holder.h"
#include "tests/router/test_maps.h"

namespace shardmanager::router {
namespace {

const std::vector<TestServer> kServers = {
    {"kv-0", "h0:1", "eu"}, {"kv-1", "h1:1", "us"}, {"kv-2", "h2:1", "us"}};

std::shared_ptr<const ShardMap> Map(const std::vector<uint32_t>& servers, v1::Role role) {
  MapHolder holder;
  EXPECT_TRUE(holder.Apply(MakeSnapshot({1, 1}, kServers, {{"s", "", servers}}, role)).ok());
  return holder.map();
}

// How often each server is chosen.
std::map<std::string, int> Choose(const ShardMap& map, ReplicaPreference preference) {
  std::map<std::string, int> times;
  for (preference.random = 0; preference.random < 60; ++preference.random) {
    const MappedReplica* chosen = ChooseReplica(map, ShardIndex(0), preference);
    if (chosen != nullptr) ++times[map.server(chosen->server()).name];
  }
  return times;
}

using Times = std::map<std::string, int>;

TEST(ReplicaChoiceTest, NobodyServesNobodyIsChosen) {
  EXPECT_EQ(Choose(*Map({}, v1::PRIMARY), {}), Times{});
}

TEST(ReplicaChoiceTest, ThePrimaryGetsAllWhereverItStands) {
  EXPECT_EQ(Choose(*Map({0}, v1::PRIMARY), {.region = "us", .avoid = "kv-0"}),
            (Times{{"kv-0", 60}}));
}

TEST(ReplicaChoiceTest, SecondariesShareEvenly) {
  EXPECT_EQ(Choose(*Map({0, 1, 2}, v1::SECONDARY), {}),
            (Times{{"kv-0", 20}, {"kv-1", 20}, {"kv-2", 20}}));
}

TEST(ReplicaChoiceTest, SecondariesOfTheRegionComeFirst) {
  EXPECT_EQ(Choose(*Map({0, 1, 2}, v1::SECONDARY), {.region = "us"}),
            (Times{{"kv-1", 30}, {"kv-2", 30}}));
  EXPECT_EQ(Choose(*Map({0, 1, 2}, v1::SECONDARY), {.region = "asia"}),
            (Times{{"kv-0", 20}, {"kv-1", 20}, {"kv-2", 20}}));
}

TEST(ReplicaChoiceTest, TheServerThatFailedIsAvoidedEvenForAFartherOne) {
  EXPECT_EQ(Choose(*Map({0, 1}, v1::SECONDARY), {.region = "eu", .avoid = "kv-0"}),
            (Times{{"kv-1", 60}}));
}

TEST(ReplicaChoiceTest, TheServerThatFailedIsBetterThanNone) {
  EXPECT_EQ(Choose(*Map({0}, v1::SECONDARY), {.avoid = "kv-0"}), (Times{{"kv-0", 60}}));
}

}  // namespace
}  // namespace shardmanager::router
