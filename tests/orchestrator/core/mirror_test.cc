// Apps with an orchestrator of their own: the tables follow the maps that it supplies, and nothing
// is done about them.
#include "orchestrator/core/mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/random.h"
#include "model/spec/spec_validation.h"
#include "orchestrator/decide/drains.h"
#include "orchestrator/describe/requests.h"
#include "orchestrator/describe/status.h"
#include "orchestrator/shell/fleet_view.h"
#include "tests/orchestrator/roles/roles_fixture.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::AppSpec OfTheApplication() {
  v1::AppSpec spec;
  spec.set_name("kv");
  spec.set_orchestrator(v1::APPLICATION);
  spec.mutable_replication()->set_strategy(v1::PRIMARY_SECONDARY);
  spec.mutable_replication()->set_replicas(2);
  return WithDefaults(spec);
}

// "kv-1@7 s-0* s-1-": in life 7, with the primary of s-0, and a replica of s-1 that does not serve.
// "kv-1!": it is down.
SuppliedServer Parsed(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  const std::vector<std::string> name = absl::StrSplit(words[0], '@');
  SuppliedServer server{.name = name[0], .incarnation = Incarnation(1)};
  if (name.size() > 1) server.incarnation = Incarnation(std::stoull(name[1]));
  server.down = words[0].ends_with("!");
  if (server.down) server.name = server.name.substr(0, server.name.find('!'));
  server.fault_domain = {"r1", "dc-1", server.name};
  server.process = server.name + "-host/1";
  for (size_t i = 1; i < words.size(); ++i) {
    std::string shard = words[i];
    const bool serving = !shard.ends_with("-");
    if (!serving) shard.pop_back();
    const bool primary = shard.ends_with("*");
    if (primary) shard.pop_back();
    server.replicas.push_back({shard, primary ? v1::PRIMARY : v1::SECONDARY, serving});
  }
  return server;
}

class MirrorTest : public ::testing::Test {
 protected:
  MirrorTest() : spec(OfTheApplication()), world(spec) {
    world.watcher.asks = [this](const Action& action) {
      const bool harmless =
          std::holds_alternative<Note>(action) || std::holds_alternative<Emptied>(action);
      EXPECT_TRUE(harmless) << "action " << action.index();
    };
    world.Start();
  }
  void Supply(const std::vector<std::string>& servers) {
    SuppliedMap map{.life = life, .sequence = ++sequence};
    for (const std::string& server : servers) map.servers.push_back(Parsed(server));
    world.Send(MapSupplied{map});
  }
  void SupplyUnchanged() {
    world.Send(MapSupplied{{.life = life, .sequence = ++sequence, .unchanged = true}});
  }
  const PartitionState& state() { return world.partition().state(); }
  taskcontroller::FleetView View() { return ViewOf(state()); }
  v1::AppStatus App() { return DescribeApp(state(), world.now); }
  std::vector<std::string> Shards() {
    std::vector<std::string> shards;
    for (const v1::ShardStatus& shard : DescribeShards(state(), "")) {
      std::string text = shard.shard() + ":";
      std::map<std::string, std::string> replicas;
      for (const v1::ReplicaStatus& replica : shard.replicas()) {
        replicas[replica.server()] =
            absl::StrCat(replica.role() == v1::PRIMARY ? "*" : "", " ", replica.state());
      }
      for (const auto& [server, how] : replicas) absl::StrAppend(&text, " ", server, how);
      shards.push_back(text);
    }
    return shards;
  }
  std::vector<std::string> Requests() {
    std::vector<std::string> requests;
    const v1::SupplyMapResponse asked = DescribeRequests(state(), world.now);
    for (const v1::AskedOfServer& request : asked.asked()) {
      requests.push_back(absl::StrCat(request.server(), request.give_nothing() ? " closed" : "",
                                      request.primaries_leave() ? " primaries" : "",
                                      request.all_leave() ? " all" : "", " ",
                                      request.replicas_left()));
    }
    return requests;
  }

  const v1::AppSpec spec;
  World world;
  uint64_t life = 1;
  uint64_t sequence = 0;
};

TEST_F(MirrorTest, TheTablesSayWhatTheMapSays) {
  Supply({"kv-0 s-0* s-1", "kv-1 s-0 s-1*-"});
  EXPECT_THAT(Shards(),
              ElementsAre("s-0: kv-0* serving kv-1 serving", "s-1: kv-0 serving kv-1* loading"));
  EXPECT_EQ(App().servers_live(), 2u);
  EXPECT_EQ(App().shards_served(), 1u);
  Supply({"kv-0 s-0", "kv-2 s-0* s-2*", "kv-1!"});
  EXPECT_THAT(Shards(), ElementsAre("s-0: kv-0 serving kv-2* serving", "s-2: kv-2* serving"));
  EXPECT_EQ(App().servers_known(), 3u);
  EXPECT_EQ(App().servers_live(), 2u);
  Supply({"kv-0 s-0*"});
  EXPECT_EQ(App().servers_known(), 1u) << "others are no servers of it any more";
}

TEST_F(MirrorTest, WithoutAMapNothingIsKnownToBeComplete) {
  EXPECT_FALSE(View().complete);
  EXPECT_THAT(View().map_missing, HasSubstr("has not supplied its shard map yet"));
  EXPECT_THAT(App().conditions(), Contains(HasSubstr("has not supplied its shard map yet")));
  Supply({"kv-0 s-0*", "kv-1 s-0"});
  EXPECT_TRUE(View().complete);
  EXPECT_EQ(View().map_missing, "");
  EXPECT_THAT(App().conditions(), IsEmpty());
}

TEST_F(MirrorTest, AMapHoldsForHalfAMinuteUnlessItIsSaidToHoldOn) {
  Supply({"kv-0 s-0*", "kv-1 s-0"});
  world.Advance(Seconds(20));
  SupplyUnchanged();
  world.Advance(Seconds(20));
  EXPECT_TRUE(View().complete);
  world.Advance(Seconds(10));
  EXPECT_FALSE(View().complete);
  EXPECT_EQ(world.NoteCount(NoteKind::kMapMissing), 1u);
  EXPECT_THAT(App().conditions(), Contains(HasSubstr("for 30 s or more")));
  SupplyUnchanged();
  EXPECT_TRUE(View().complete);
  EXPECT_EQ(world.NoteCount(NoteKind::kMapSupplied), 2u);
}

TEST_F(MirrorTest, AnOlderMapChangesNothing) {
  Supply({"kv-0 s-0*"});
  life = 2;
  sequence = 0;
  Supply({"kv-1 s-0*"});
  life = 1;
  sequence = 7;
  Supply({"kv-0 s-0*"});
  EXPECT_THAT(Shards(), ElementsAre("s-0: kv-1* serving"));
}

TEST_F(MirrorTest, ANewLeaderKnowsNothingUntilItIsTold) {
  Supply({"kv-0 s-0*", "kv-1 s-0"});
  world.Restart();
  EXPECT_FALSE(View().complete);
  EXPECT_THAT(Shards(), IsEmpty());
  Supply({"kv-0 s-0*", "kv-1 s-0"});
  EXPECT_TRUE(View().complete);
}

TEST_F(MirrorTest, WhatHasToLeaveIsAskedForUntilItHasLeft) {
  Supply({"kv-0 s-0* s-1", "kv-1 s-0 s-1*"});
  EXPECT_THAT(Requests(), IsEmpty());
  world.ordered.drains = {DrainOf("kv-0")};
  world.Apply(spec);
  EXPECT_THAT(Requests(), ElementsAre("kv-0 closed primaries all 2"));
  EXPECT_EQ(DescribeRequests(state(), world.now).supply_again_ms(), 1'000u);
  Supply({"kv-0 s-1", "kv-1 s-0* s-1*", "kv-2 s-0"});
  EXPECT_THAT(Requests(), ElementsAre("kv-0 closed primaries all 1"));
  Supply({"kv-0", "kv-1 s-0* s-1*", "kv-2 s-0 s-1"});
  EXPECT_THAT(Requests(), ElementsAre("kv-0 closed primaries all 0"));
  EXPECT_EQ(DescribeRequests(state(), world.now).supply_again_ms(), 10'000u);
  EXPECT_EQ(world.NoteCount(NoteKind::kDrained), 1u);
  world.ordered.drains.clear();
  world.Apply(spec);
  EXPECT_THAT(Requests(), IsEmpty());
}

TEST_F(MirrorTest, AnOperationThatIsPreparedAsksForPrimariesOnly) {
  Supply({"kv-0 s-0* s-1", "kv-1 s-0 s-1*"});
  world.Send(OrdersChanged{{{.server = "kv-1", .closed = true, .leaving = {.primaries = true}}}});
  EXPECT_THAT(Requests(), ElementsAre("kv-1 closed primaries 1"));
  Supply({"kv-0 s-0* s-1*", "kv-1 s-0 s-1"});
  EXPECT_THAT(Requests(), ElementsAre("kv-1 closed primaries 0"));
  world.Send(OrdersChanged{});
  EXPECT_THAT(Requests(), IsEmpty());
}

TEST_F(MirrorTest, AServerThatIsDownIsAwayWithWhatItHolds) {
  Supply({"kv-0 s-0*", "kv-1! s-0"});
  const taskcontroller::FleetView view = View();
  const ServerIndex down = view.Find("kv-1");
  ASSERT_TRUE(down.valid());
  EXPECT_FALSE(view.server(down).live);
  ASSERT_EQ(view.held(down).size(), 1u);
  EXPECT_FALSE(view.held(down)[0].healthy);
  EXPECT_THAT(DescribeServers(state(), world.now, "kv-1").front().reason(),
              HasSubstr("says the app's own orchestrator"));
  world.Advance(Seconds(600));
  SupplyUnchanged();
  EXPECT_EQ(View().held(View().Find("kv-1")).size(), 1u) << "nobody gives its replicas to others";
}

TEST_F(MirrorTest, WhatRegistersInTheStoreIsNoServerOfIt) {
  Supply({"kv-0 s-0*", "kv-1 s-0"});
  world.Join("kv-7");
  EXPECT_EQ(App().servers_known(), 2u);
}

TEST_F(MirrorTest, AChangeOfTheSpecKeepsTheShards) {
  Supply({"kv-0 s-0*", "kv-1 s-0"});
  v1::AppSpec three = spec;
  three.mutable_replication()->set_replicas(3);
  world.Apply(three);
  EXPECT_EQ(App().replicas_wanted(), 3u);
  EXPECT_EQ(App().shards(), 1u);
}

TEST_F(MirrorTest, ADeletedAppIsEmptyAtOnce) {
  Supply({"kv-0 s-0*", "kv-1 s-0"});
  world.Apply(spec, /*deleting=*/true);
  EXPECT_TRUE(world.emptied);
  Supply({"kv-0 s-0*", "kv-1 s-0"});
  EXPECT_EQ(App().replicas_wanted(), 0u);
}

TEST_F(MirrorTest, APinnedShardIsMarkedWhenTheMapComes) {
  v1::Pin& pin = world.ordered.pins.emplace_back();
  pin.set_shard("s-0");
  world.Apply(spec);
  Supply({"kv-0 s-0* s-1*", "kv-1 s-0 s-1"});
  EXPECT_TRUE(View().shards[state().tables.FindShard("s-0").index()].pinned);
  EXPECT_FALSE(View().shards[state().tables.FindShard("s-1").index()].pinned);
}

TEST_F(MirrorTest, WhoNeverSuppliesAMapIsToldOf) {
  world.Advance(Seconds(31));
  EXPECT_EQ(world.NoteCount(NoteKind::kMapMissing), 1u);
  Supply({"kv-0 s-0*"});
  EXPECT_EQ(world.NoteCount(NoteKind::kMapSupplied), 1u);
}

// Its roles were checked by the other strategy.
TEST_F(MirrorTest, AChangeOfStrategyVoidsTheMap) {
  Supply({"kv-0 s-0*", "kv-1 s-0"});
  v1::AppSpec other = spec;
  other.mutable_replication()->set_strategy(v1::SECONDARY_ONLY);
  world.Apply(other);
  EXPECT_FALSE(View().complete);
  SupplyUnchanged();
  EXPECT_FALSE(View().complete);
}

TEST_F(MirrorTest, AServerThatIsNotListedIsNotKnownByName) {
  Supply({"kv-0 s-0*", "kv-1 s-0"});
  EXPECT_TRUE(View().Find("kv-1").valid());
  Supply({"kv-0 s-0*"});
  EXPECT_FALSE(View().Find("kv-1").valid());
}

TEST_F(MirrorTest, WhatIsShownOfTheSpecCanBeAppliedAgain) {
  EXPECT_THAT(ValidateSpec(App().spec()), IsEmpty());
}

// Of a new leader, in the middle of one: it is said what it hits when that is known.
TEST_F(MirrorTest, WhatAMaintenanceHitsIsToldOnceTheMapIsThere) {
  constexpr int64_t kNowMs = 1'800'000'000'000;
  v1::Maintenance notice;
  notice.set_id("change-1");
  notice.mutable_scope()->set_server("kv-0");
  notice.set_impact(v1::MACHINE_LOSS);
  notice.set_start_ms(kNowMs - 1'000);
  notice.set_end_ms(kNowMs + 600'000);
  world.ordered.maintenances = {OnClock(notice, world.now, kNowMs)};
  world.Restart();
  EXPECT_EQ(world.NoteCount(NoteKind::kMaintenanceHits), 0u);
  Supply({"kv-0 s-0*", "kv-1 s-0"});
  EXPECT_EQ(world.NoteCount(NoteKind::kMaintenanceHits), 1u);
}

// Whatever is supplied and ordered: nothing is asked of anybody (the fixture looks), and what is
// shown is the last map.
TEST_F(MirrorTest, RandomMapsAreMirroredAndNothingIsDone) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> servers;
    std::map<std::string, std::map<std::string, std::string>> truth;  // by shard and server
    for (int s = 0; s < 6; ++s) {
      if (random.Below(4) == 0) continue;
      const bool down = random.Below(5) == 0;
      const std::string name = absl::StrCat("kv-", s);
      std::string text = absl::StrCat(name, "@", 1 + round / 10, down ? "!" : "");
      for (int shard = 0; shard < 8; ++shard) {
        if (random.Below(3) != 0) continue;
        const bool primary = random.Below(3) == 0;
        const bool serving = random.Below(3) != 0;
        absl::StrAppend(&text, " s-", shard, primary ? "*" : "", serving ? "" : "-");
        const bool in_step = serving && !down;
        truth[absl::StrCat("s-", shard)][name] = absl::StrCat(primary ? "*" : "", " ",
                                                              down      ? "unreachable"
                                                              : in_step ? "serving"
                                                                        : "loading");
      }
      servers.push_back(text);
    }
    Supply(servers);
    std::vector<std::string> expected;
    for (const auto& [shard, replicas] : truth) {
      std::string text = shard + ":";
      for (const auto& [server, how] : replicas) absl::StrAppend(&text, " ", server, how);
      expected.push_back(text);
    }
    ASSERT_THAT(Shards(), ::testing::ElementsAreArray(expected)) << "round " << round;
    if (random.Below(4) == 0) {
      world.Send(OrdersChanged{{{.server = absl::StrCat("kv-", random.Below(6)),
                                 .closed = true,
                                 .leaving = {.primaries = true, .secondaries = true}}}});
    }
    world.Advance(Milliseconds(static_cast<int64_t>(random.Below(20'000))));
  }
}

}  // namespace
}  // namespace shardmanager::orchestrator
