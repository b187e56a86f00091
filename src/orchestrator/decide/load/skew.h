// Which shards and keys ask for more than one server should do for one of them.
//
// Moves help against a server that has too much, not against one shard that is too much for any
// server: the shard has to become smaller, and a key cannot even be divided. So both are judged by
// what one server can do, in two ways:
//   * by load: a replica that carries half of its server's capacity. Twice as many requests would
//     fill the server with nothing else on it, and no move would help.
//   * by requests: a replica that alone has 80% of the requests that a server has on average. A
//     server with this shard and any others is above the average wherever the shard goes. (Where
//     there are about as many shards as servers this is true of every shard, so the replica must
//     have twice as many requests as a shard has on average, too.)
// Nothing is known of the load of one key. A key is hot with half as many requests as make a shard
// hot: the shard has other keys, too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// Hot from the first value on, until it is below the second: so what stands at a limit is told
// once.
struct HeatLimits {
  double from;
  double until;
};
// Of the capacity of the replica's server.
inline constexpr HeatLimits kHotByLoad{0.5, 0.4};
// Of what a live server has on average.
inline constexpr HeatLimits kHotByRequests{0.8, 0.6};
inline constexpr HeatLimits kHotKey{0.4, 0.3};
// Of what a shard has on average.
inline constexpr HeatLimits kAboveMeanShard{2, 1.5};
// With fewer requests between two reports nothing is judged by requests: chance, or a small app.
inline constexpr double kLeastRequestsToJudge = 1'000;
// Of one key, that were looked at: chance changes their number by an eighth, as a rule.
inline constexpr double kLeastSamplesOfKey = 64;

// What the whole app does.
struct AppTraffic {
  double requests_per_s = 0;
  double of_server = 0;  // of a live server, on average
  double of_shard = 0;   // of a shard, on average
  bool judged = false;   // there are enough requests
};
AppTraffic TrafficOf(const PartitionState& state);

// All replicas of one shard.
struct ShardTraffic {
  ShardIndex shard;
  double requests_per_s = 0;
  double errors_per_s = 0;
  double p50_ms = 0;   // of the slowest replica
  double p99_ms = 0;   // likewise
  double busiest = 0;  // requests per second of the busiest replica
};
// Ascending by shard: those that servers told of, as they are among the busiest of their server.
std::vector<ShardTraffic> TrafficByShard(const PartitionState& state);
std::optional<ShardTraffic> TrafficOfShard(const PartitionState& state, ShardIndex shard);

// One key at all servers.
struct KeyTotal {
  std::string key;
  ShardIndex shard;
  double requests_per_s = 0;
  double error_per_s = 0;
  double busiest = 0;  // at one server, at least
  double sampled = 0;
};
// Descending by rate, then by key.
std::vector<KeyTotal> TrafficByKey(const PartitionState& state);

// The greatest part of its server's capacity that one replica of the shard carries.
struct LoadShare {
  double share = 0;
  size_t metric = 0;
  ServerIndex server;  // invalid: no load is known, or there is no limit
};
LoadShare GreatestLoadShare(const PartitionState& state, ShardIndex shard);

// What makes a shard hot, as data.
struct ShardHeat {
  bool by_load = false;
  bool by_requests = false;
  bool hot() const { return by_load || by_requests; }
};
// `was_hot`: it is so far.
ShardHeat HeatOf(const AppTraffic& app, const ShardTraffic& shard, const LoadShare& load,
                 bool was_hot);
bool IsHotKey(const AppTraffic& app, const KeyTotal& key, bool was_hot);

}  // namespace shardmanager::orchestrator
