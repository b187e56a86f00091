// Golden texts: what people see.
#include "cli/render.h"

#include "absl/strings/str_cat.h"
#include "cli/describe.h"
#include "cli/explain.h"
#include "cli/maintenances.h"
#include "gmock/gmock.h"
#include "tests/cli/answers.h"

namespace shardmanager::cli {
namespace {

TEST(RenderTest, ListsApps) {
  EXPECT_EQ(AppsTable(TwoApps(), {}),
            R"(NAME     STRATEGY         SHARDS   SERVED   REPLICAS   SERVERS   MOVES   STATUS
kv       primary-only     3        2        2/3        2/3       1       1 of 3 replicas not serving (+1 more)
search   secondary-only   10       10       20/20      4/4       0       ok
)");
}

TEST(RenderTest, ListsAppsWithTheirMapVersionsWhenWide) {
  EXPECT_EQ(
      AppsTable(TwoApps(), {.wide = true}),
      R"(NAME     STRATEGY         SHARDS   SERVED   REPLICAS   SERVERS   MOVES   MAP    STATUS
kv       primary-only     3        2        2/3        2/3       1       4.17   1 of 3 replicas not serving (+1 more)
search   secondary-only   10       10       20/20      4/4       0       4.2    ok
)");
}

TEST(RenderTest, PaintsWhatNeedsAttention) {
  v1::GetAppsResponse apps = TwoApps();
  apps.mutable_apps()->DeleteSubrange(0, 1);
  apps.mutable_apps(0)->set_deleting(true);
  apps.mutable_apps(0)->set_servers_live(0);
  EXPECT_EQ(
      AppsTable(apps, {.colour = true}),
      "NAME     STRATEGY         SHARDS   SERVED   REPLICAS   SERVERS   MOVES   STATUS\n"
      "search   secondary-only   10       10       20/20      \x1b[31m0/4\x1b[0m       0       "
      "\x1b[33mdeleting\x1b[0m\n");
}

TEST(RenderTest, PaintsAMaintenanceThatHitsShards) {
  v1::GetMaintenancesResponse response;
  v1::MaintenanceStatus& status = *response.add_maintenances();
  status.mutable_maintenance()->set_id("change-1");
  status.set_state("ready");
  EXPECT_THAT(MaintenancesTable(response, {.colour = true}), ::testing::HasSubstr("\x1b[32mready"));
  status.set_shards_hit(1);
  EXPECT_THAT(MaintenancesTable(response, {.colour = true}), ::testing::HasSubstr("\x1b[31mready"));
}

TEST(RenderTest, ListsServers) {
  EXPECT_EQ(ServersTable(ThreeServers(), {}),
            R"(NAME   STATE   REGION    REPLICAS   ENDPOINT         REASON
kv-1   live    eu-west   1/1        127.0.0.1:9001
kv-2   live    us-east   1/1        127.0.0.1:9002
kv-3   lost    eu-west   0/1        127.0.0.1:9003   session expired 2.1 s ago; failover in 27.9 s
)");
}

TEST(RenderTest, ListsServersInFullWhenWide) {
  v1::GetServersResponse servers = ThreeServers();
  v1::MetricUse& cpu = *servers.mutable_servers(0)->add_loads();
  cpu.set_metric("cpu");
  cpu.set_used(3.2);
  cpu.set_capacity(16);
  EXPECT_EQ(
      ServersTable(servers, {.wide = true}),
      R"(NAME   STATE   REGION    REPLICAS   ENDPOINT         DATACENTER   RACK   CAPACITY   LOAD         INCARNATION   REASON
kv-1   live    eu-west   1/1        127.0.0.1:9001   dub1         r07    1000       cpu 3.2/16   1
kv-2   live    us-east   1/1        127.0.0.1:9002   -            -      -          -            12
kv-3   lost    eu-west   0/1        127.0.0.1:9003   -            -      -          -            1             session expired 2.1 s ago; failover in 27.9 s
)");
}

TEST(RenderTest, NamesTheAppOnlyWhereThereAreSeveral) {
  v1::GetServersResponse servers = ThreeServers();
  servers.mutable_servers(2)->set_app("search");
  EXPECT_EQ(ServersTable(servers, {}),
            R"(APP      NAME   STATE   REGION    REPLICAS   ENDPOINT         REASON
kv       kv-1   live    eu-west   1/1        127.0.0.1:9001
kv       kv-2   live    us-east   1/1        127.0.0.1:9002
search   kv-3   lost    eu-west   0/1        127.0.0.1:9003   session expired 2.1 s ago; failover in 27.9 s
)");
}

TEST(RenderTest, ListsShardsWithTheirPrimaries) {
  EXPECT_EQ(ShardsTable(ThreeShards(), {}),
            R"(NAME      STATE      PRIMARY         RANGE               REASON
shard-0   serving    kv-1            [first key, "g")
shard-1   unserved   kv-2(loading)   ["g", "n\n")        40% loaded
shard-2   unserved   -               ["n\n", last key]   no server has room
)");
}

TEST(RenderTest, ShowsRangesOfHashes) {
  v1::ShardStatus shard;
  EXPECT_EQ(KeysText(shard), "");
  shard.mutable_hash_range()->set_end("4");
  EXPECT_EQ(KeysText(shard), "hash [0, 4)");
  shard.mutable_hash_range()->set_start("c\n");
  shard.mutable_hash_range()->clear_end();
  EXPECT_THAT(KeysText(shard), testing::MatchesRegex("hash \\[c[^\n]*, end\\]"));
  shard.clear_hash_range();
  shard.mutable_range()->set_start("g");
  EXPECT_EQ(KeysText(shard), "[\"g\", last key]");
}

TEST(RenderTest, ListsShardsWithTheirEpochsWhenWide) {
  EXPECT_EQ(ShardsTable(ThreeShards(), {.wide = true}),
            R"(NAME      STATE      PRIMARY@EPOCH               RANGE               REASON
shard-0   serving    kv-1@17179869185            [first key, "g")
shard-1   unserved   kv-2(loading)@17179869186   ["g", "n\n")        40% loaded
shard-2   unserved   -                           ["n\n", last key]   no server has room
)");
}

TEST(RenderTest, ListsAllReplicasOfReplicatedShards) {
  EXPECT_EQ(ShardsTable(ReplicatedShards(), {}),
            R"(NAME   STATE      REPLICAS          RANGE   REASON
a      degraded   s-1,s-2(failed)   -       1 of 2 replicas serving
)");
}

TEST(RenderTest, MarksThePrimaryWhereThereAreSecondaries) {
  v1::GetShardsResponse shards = ReplicatedShards();
  shards.mutable_shards(0)->mutable_replicas(0)->set_role(v1::PRIMARY);
  EXPECT_THAT(ShardsTable(shards, {}), ::testing::HasSubstr("s-1*,s-2(failed)"));
}

TEST(RenderTest, ShowsNoControlCharactersFromTheWire) {
  v1::GetServersResponse servers;
  v1::ServerStatus& server = *servers.add_servers();
  server.set_server("kv-1\x1b[2J");
  server.set_reason("\x1b]0;owned\x07\nline two, \"quoted\"");
  EXPECT_EQ(ServersTable(servers, {}),
            "NAME          STATE   REGION   REPLICAS   ENDPOINT   REASON\n"
            "kv-1\\x1b[2J   -       -        0/0        -          \\x1b]0;owned\\x07\\nline two, "
            "\"quoted\"\n");
}

TEST(RenderTest, WritesAnEventALine) {
  const auto events = ThreeEvents();
  EXPECT_EQ(EventLine(events[0], false),
            "2026-03-01T12:00:00.000Z  ServerLost  kv/kv-3  session expired");
  EXPECT_EQ(EventLine(events[1], false), "2026-03-01T12:00:01.000Z  ShardServing  kv/kv-1/shard-0");
  EXPECT_EQ(EventLine(events[2], true),
            "\x1b[2m2026-03-01T12:00:02.000Z\x1b[0m  LeaderElected  epoch 4");
}

Surroundings Around() {
  return {.events = ThreeEvents(), .now_ms = 1772366400000 + 123'000, .colour = false};
}

v1::GetServersResponse NoServers() { return {}; }

TEST(DescribeTest, ShowsAnApp) {
  EXPECT_EQ(DescribeApp(TwoApps().apps(0), ThreeServers(), Around()),
            R"(App:          kv
Status:       1 of 3 replicas not serving (+1 more)
Strategy:     primary-only
Shards:       3; 2 served
Replicas:     3 wanted; 2 serving
Servers:      3 known; 2 live
Moves:        1 in flight; at most 20, 5 per server; a look every 10s
Map version:  4.17
Placement:    in eu-west, us-east; preferably in eu-west; one replica of a shard per server; at most 100 replicas per server
Failover:     30s after a server is lost; cut off: stop-primaries
Commands:     fail after 1m

Conditions:
  1 of 3 replicas not serving
  server kv-3 is lost

Servers:
  NAME   STATE   REGION    REPLICAS   ENDPOINT         REASON
  kv-1   live    eu-west   1/1        127.0.0.1:9001
  kv-2   live    us-east   1/1        127.0.0.1:9002
  kv-3   lost    eu-west   0/1        127.0.0.1:9003   session expired 2.1 s ago; failover in 27.9 s

Events:
  AGE    KIND           SERVER   SHARD     MESSAGE
  2m3s   ServerLost     kv-3     -         session expired
  2m2s   ShardServing   kv-1     shard-0
)");
}

TEST(DescribeTest, ShowsAnAppWithoutAnything) {
  EXPECT_EQ(DescribeApp(FromText<v1::AppStatus>("spec { name: 'new' }"), NoServers(), {}),
            R"(App:          new
Status:       ok
Strategy:     replication-strategy-unspecified
Shards:       0; 0 served
Replicas:     0 wanted; 0 serving
Servers:      0 known; 0 live
Moves:        0 in flight
Map version:  0.0
Failover:     at once

Servers:  none

Events:  none
)");
}

TEST(DescribeTest, ShowsAnAppOfWhichNobodyCanTellTheServers) {
  const auto unknown = absl::UnavailableError("app \"kv\" has not said yet");
  EXPECT_THAT(DescribeApp(TwoApps().apps(0), unknown, Around()),
              ::testing::HasSubstr("  server kv-3 is lost\n\n"
                                   "Servers:  unknown: app \"kv\" has not said yet\n\n"
                                   "Events:\n"));
}

TEST(DescribeTest, ShowsAServerWithItsShards) {
  EXPECT_EQ(DescribeServer(ThreeServers().servers(0), ThreeShards(), Around()),
            R"(Server:        kv-1
App:           kv
State:         live
Endpoint:      127.0.0.1:9001
Fault domain:  eu-west / dub1 / r07
Incarnation:   1
Replicas:      1; 1 serving
Capacity:      1000 replicas

Shards:
  SHARD     ROLE      STATE     EPOCH         REASON
  shard-0   primary   serving   17179869185

Events:
  AGE    KIND           SERVER   SHARD     MESSAGE
  2m2s   ShardServing   kv-1     shard-0
)");
}

TEST(DescribeTest, AServersLoadsAreShownWithWhatItCanCarryAndRegistered) {
  v1::ServerStatus server = ThreeServers().servers(0);
  const auto add = [&](const char* metric, double used, double capacity) {
    v1::MetricUse& use = *server.add_loads();
    use.set_metric(metric);
    use.set_used(used);
    use.set_capacity(capacity);
    return &use;
  };
  add("cpu", 2.5, 0);
  add("disk", 120, 150)->set_registered(200);
  add("memory", 3, 8)->set_registered(0);
  const std::string text = DescribeServer(server, {}, {});
  EXPECT_THAT(text, ::testing::HasSubstr("2.5; no limit\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("120 of 150 (registered: 200)\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("3 of 8 (registered: no limit)\n"));
}

TEST(DescribeTest, ShowsSomeOfManyShards) {
  v1::GetShardsResponse shards;
  for (int i = 0; i < 52; ++i) {
    shards.add_shards()->add_replicas()->set_server("kv-1");
  }
  const std::string text = DescribeServer(ThreeServers().servers(0), shards, {});
  EXPECT_NE(text.find("\n  (and 2 more: shardctl get shards --app kv)\n"), std::string::npos)
      << text;
}

TEST(DescribeTest, ShowsAShardWithItsReplicas) {
  EXPECT_EQ(DescribeShard("kv", ThreeShards().shards(1), Around()),
            R"(Shard:  shard-1
App:    kv
State:  unserved
Keys:   ["g", "n\n")

Replicas:
  SERVER   ROLE      STATE     EPOCH         REASON
  kv-2     primary   loading   17179869186   40% loaded

Events:  none
)");
}

TEST(DescribeTest, ShowsAShardThatNobodyHolds) {
  EXPECT_EQ(DescribeShard("kv", ThreeShards().shards(2), Around()),
            R"(Shard:   shard-2
App:     kv
State:   unserved
Reason:  no server has room
Keys:    ["n\n", last key]

Replicas:  none

Events:  none
)");
}

TEST(ExplainTest, ShowsAShardAndWhereElseItMightBe) {
  EXPECT_EQ(ExplainText("kv", OneExplanation(), /*one_server=*/false, /*colour=*/false),
            R"(Shard:     shard-0
App:       kv
State:     serving
Replicas:  1; 1 wanted
Balance:   the last plan, 3.0 s ago, found nothing to improve

Waits for:  nothing

Its replicas:
  SERVER   STATE     LOAD      FOR (-) AND AGAINST (+) ITS PLACE
  kv-1     serving   cpu 2.5   balance: balance(server, cpu) +0.0625

Elsewhere (2 of 3 live servers, the best first):
  SERVER   REGION    CARRIES                   FROM   VERDICT   WHY
  kv-2     us-east   replicas 4/10, cpu 6.25   kv-1   worse     region preference loses: affinity(region) costs 1 there and 0 here
  kv-4     eu-west   replicas 10/10, cpu 1     kv-1   refused   it has no room: capacity(server, replicas)

Ruled out:
  1 server by capacity(server, replicas)

Why not on another one: shardctl explain kv shard-0 --on SERVER
)");
}

TEST(ExplainTest, ShowsEachRuleForOneServer) {
  v1::ExplainShardResponse explained = OneExplanation();
  explained.mutable_candidates()->DeleteSubrange(1, 1);
  explained.add_waits()->set_message("kv-1 loads it, 40% done\n");
  EXPECT_EQ(ExplainText("kv", explained, /*one_server=*/true, /*colour=*/false),
            R"(Shard:     shard-0
App:       kv
State:     serving
Replicas:  1; 1 wanted
Balance:   the last plan, 3.0 s ago, found nothing to improve

Waits for:
  kv-1 loads it, 40% done\n

Its replicas:
  SERVER   STATE     LOAD      FOR (-) AND AGAINST (+) ITS PLACE
  kv-1     serving   cpu 2.5   balance: balance(server, cpu) +0.0625

Elsewhere (1 of 3 live servers, the best first):
  SERVER   REGION    CARRIES                   FROM   VERDICT   WHY
  kv-2     us-east   replicas 4/10, cpu 6.25   kv-1   worse     region preference loses: affinity(region) costs 1 there and 0 here

For and against kv-2, the most important first:
  GOAL                RULE                   COST NOW   COST THERE   SPEAKS
  region preference   affinity(region)       0          1            against it
  balance             balance(server, cpu)   0.0625     0            for it
  movement            movement               0          1            against it
)");
}

TEST(ExplainTest, ShowsAShardWithoutAPlaceInAnEmptyFleet) {
  EXPECT_EQ(ExplainText("kv", FromText<v1::ExplainShardResponse>(R"(
                            shard { shard: "a" state: "unserved" reason: "waiting to be placed" }
                            replicas_wanted: 1 replicas {}
                            waits { message: "the next plan looks for a place" })"),
                        false, false),
            R"(Shard:     a
App:       kv
State:     unserved
Reason:    waiting to be placed
Replicas:  0; 1 wanted

Waits for:
  the next plan looks for a place

Its replicas:
  SERVER   STATE     LOAD   FOR (-) AND AGAINST (+) ITS PLACE
  -        missing   -      it has no place yet

Elsewhere:  no other live server
)");
}

TEST(DescribeTest, CountsEventsOfOneKindInARow) {
  Surroundings around;
  for (int i = 0; i < 40; ++i) {
    around.events.push_back(FromText<v1::ControlEvent>("app: 'kv' kind: 'MoveStarted'"));
    around.events.back().set_shard(absl::StrCat("shard-", i));
  }
  around.events.push_back(FromText<v1::ControlEvent>("app: 'kv' kind: 'ServerLost' server: 'a'"));
  const std::string text = DescribeApp(TwoApps().apps(0), NoServers(), around);
  EXPECT_NE(text.find("Events:\n"
                      "  AGE   KIND                SERVER   SHARD      MESSAGE\n"
                      "  0s    MoveStarted (x40)   -        shard-39\n"
                      "  0s    ServerLost          a        -\n"),
            std::string::npos)
      << text;
}

TEST(DescribeTest, ShowsOnlyTheLastEvents) {
  Surroundings around;
  for (int i = 0; i < 30; ++i) {
    around.events.push_back(FromText<v1::ControlEvent>("app: 'kv'"));
    around.events.back().set_kind(absl::StrCat("Event", i));
  }
  const std::string text = DescribeApp(TwoApps().apps(0), NoServers(), around);
  EXPECT_EQ(text.find("Event9 "), std::string::npos) << text;
  EXPECT_NE(text.find("Event10"), std::string::npos) << text;
  EXPECT_NE(text.find("Event29"), std::string::npos) << text;
}

}  // namespace
}  // namespace shardmanager::cli
