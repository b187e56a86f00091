// What sums hide: requests by shard and by key, as servers counted them lately, and what is hot.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/traffic/key_spread.h"
#include "orchestrator/state/tables.h"

namespace shardmanager::orchestrator {

// One replica's requests, as its server counted them.
struct ReplicaTraffic {
  ShardIndex shard;
  float requests_per_s = 0;
  float errors_per_s = 0;
  float p50_ms = 0;
  float p99_ms = 0;
};
// A key of one server's sketch.
struct KeyTraffic {
  std::string key;
  ShardIndex shard;
  float requests_per_s = 0;  // at most
  float error_per_s = 0;     // and at least so much less
  float sampled = 0;         // requests that were looked at and are certainly of this key
};

// Rates are half of the newest report and half of those before, which halves the noise.
struct ServerTraffic {
  TimePoint at{};                        // of the newest report
  double requests_per_s = 0;             // of all replicas
  std::vector<ReplicaTraffic> replicas;  // ascending by shard: those that it told of
  std::vector<KeyTraffic> keys;          // descending by rate
  std::array<float, kHashParts> by_hash{};
};

struct EntropyAt {
  TimePoint at{};
  double bits = 0;
};

// What metrics show: the greatest of each, so that their number is that of the apps.
struct TrafficFigures {
  double requests_per_s = 0;
  double hottest_shard = 0;  // its busiest replica, as a part of what a server has on average
  double hottest_key = 0;    // at its busiest server, likewise
  size_t shards_hot = 0;
  size_t keys_hot = 0;
  double entropy_bits = 0;  // 0 also: too few requests
};

struct Skew {
  std::map<ServerIndex, ServerTraffic> servers;  // ordered, so that sums do not depend on chance
  // As of the last look.
  std::deque<EntropyAt> entropies;  // of the last hour, the newest last; none: too few requests
  bool entropy_known = false;       // the newest one is of the last look
  std::set<ShardIndex> hot_shards;
  std::set<std::string> hot_keys;
};

}  // namespace shardmanager::orchestrator
