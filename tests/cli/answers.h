// Answers of a control plane, for tests: a small app "kv" on a bad day.
#pragma once

#include <google/protobuf/text_format.h>

#include <string>

#include "gtest/gtest.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::cli {

template <typename Message>
Message FromText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

inline v1::GetAppsResponse TwoApps() {
  return FromText<v1::GetAppsResponse>(R"(
      apps {
        spec { name: "kv" key_space { split_points: ["g", "n"] }
               replication { strategy: PRIMARY_ONLY replicas: 1 }
               placement { regions: ["eu-west", "us-east"] preferred_region: "eu-west"
                           spread: SERVER max_replicas_per_server: 100 }
               failover { delay_ms: 30000 on_partition: STOP_PRIMARIES }
               moves { max_concurrent: 20 max_concurrent_per_server: 5
                       balance_interval_ms: 10000 }
               commands { timeout_ms: 60000 } }
        shards: 3 shards_served: 2 replicas_wanted: 3 replicas_serving: 2
        servers_live: 2 servers_known: 3 moves_in_flight: 1
        map_version { leader_epoch: 4 sequence: 17 }
        conditions: "1 of 3 replicas not serving"
        conditions: "server kv-3 is lost" }
      apps {
        spec { name: "search" replication { strategy: SECONDARY_ONLY replicas: 2 } }
        shards: 10 shards_served: 10 replicas_wanted: 20 replicas_serving: 20
        servers_live: 4 servers_known: 4
        map_version { leader_epoch: 4 sequence: 2 } })");
}

inline v1::GetServersResponse ThreeServers() {
  return FromText<v1::GetServersResponse>(R"(
      servers { app: "kv" server: "kv-1" state: "live" endpoint: "127.0.0.1:9001"
                fault_domain { region: "eu-west" datacenter: "dub1" rack: "r07" }
                incarnation: 1 replicas: 1 replicas_serving: 1 capacity: 1000 }
      servers { app: "kv" server: "kv-2" state: "live" endpoint: "127.0.0.1:9002"
                fault_domain { region: "us-east" } incarnation: 12 replicas: 1
                replicas_serving: 1 }
      servers { app: "kv" server: "kv-3" state: "lost" endpoint: "127.0.0.1:9003"
                fault_domain { region: "eu-west" } incarnation: 1 replicas: 1
                reason: "session expired 2.1 s ago; failover in 27.9 s" })");
}

inline v1::GetShardsResponse ThreeShards() {
  return FromText<v1::GetShardsResponse>(R"(
      shards { shard: "shard-0" range { end: "g" } state: "serving"
               replicas { server: "kv-1" role: PRIMARY epoch: 17179869185 state: "serving" } }
      shards { shard: "shard-1" range { start: "g" end: "n\n" } state: "unserved"
               replicas { server: "kv-2" role: PRIMARY epoch: 17179869186 state: "loading"
                          reason: "40% loaded" } }
      shards { shard: "shard-2" range { start: "n\n" } state: "unserved"
               reason: "no server has room" })");
}

inline v1::GetShardsResponse ReplicatedShards() {
  return FromText<v1::GetShardsResponse>(R"(
      shards { shard: "a" state: "degraded" reason: "1 of 2 replicas serving"
               replicas { server: "s-1" role: SECONDARY epoch: 5 state: "serving" }
               replicas { server: "s-2" role: SECONDARY epoch: 6 state: "failed"
                          reason: "disk full" } })");
}

inline v1::ExplainShardResponse OneExplanation() {
  return FromText<v1::ExplainShardResponse>(R"(
      shard { shard: "shard-0" state: "serving"
              replicas { server: "kv-1" role: PRIMARY epoch: 5 state: "serving" } }
      replicas_wanted: 1
      replicas { server: "kv-1" loads { metric: "cpu" used: 2.5 }
                 arguments { goal: "balance" rule: 'balance(server, cpu)' cost: 0.0625 } }
      candidates { server: "kv-2" fault_domain { region: "us-east" } from: "kv-1"
                   verdict: "worse"
                   reason: "region preference loses: affinity(region) costs 1 there and 0 here"
                   arguments { goal: "region preference" rule: 'affinity(region)' cost: 1 }
                   arguments { goal: "balance" rule: 'balance(server, cpu)' cost_now: 0.0625 }
                   arguments { goal: "movement" rule: "movement" cost: 1 }
                   loads { metric: "replicas" used: 4 capacity: 10 }
                   loads { metric: "cpu" used: 6.25 } }
      candidates { server: "kv-4" fault_domain { region: "eu-west" } from: "kv-1"
                   verdict: "refused" reason: 'it has no room: capacity(server, replicas)'
                   loads { metric: "replicas" used: 10 capacity: 10 }
                   loads { metric: "cpu" used: 1 } }
      servers_considered: 3
      refused { rule: 'capacity(server, replicas)' servers: 1 }
      balance: "the last plan, 3.0 s ago, found nothing to improve" )");
}

inline std::vector<v1::ControlEvent> ThreeEvents() {
  return {FromText<v1::ControlEvent>("time_ms: 1772366400000 app: 'kv' kind: 'ServerLost' "
                                     "server: 'kv-3' message: 'session expired'"),
          FromText<v1::ControlEvent>("time_ms: 1772366401000 app: 'kv' kind: 'ShardServing' "
                                     "server: 'kv-1' shard: 'shard-0'"),
          FromText<v1::ControlEvent>("time_ms: 1772366402000 kind: 'LeaderElected' "
                                     "message: 'epoch 4'")};
}

}  // namespace shardmanager::cli
