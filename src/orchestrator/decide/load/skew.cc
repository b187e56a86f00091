#include "orchestrator/decide/load/skew.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "orchestrator/decide/load/loads.h"

namespace shardmanager::orchestrator {
namespace {

double Limit(const HeatLimits& limits, bool was_hot) {
  return was_hot ? limits.until : limits.from;
}

void Add(const ReplicaTraffic& replica, ShardTraffic& shard) {
  shard.requests_per_s += replica.requests_per_s;
  shard.errors_per_s += replica.errors_per_s;
  shard.p50_ms = std::max<double>(shard.p50_ms, replica.p50_ms);
  shard.p99_ms = std::max<double>(shard.p99_ms, replica.p99_ms);
  shard.busiest = std::max<double>(shard.busiest, replica.requests_per_s);
}

}  // namespace

AppTraffic TrafficOf(const PartitionState& state) {
  AppTraffic app;
  for (const auto& [server, traffic] : state.skew.servers) {
    app.requests_per_s += traffic.requests_per_s;
  }
  size_t live = 0;
  for (const ServerIndex id : state.tables.servers()) {
    live += state.tables.server(id).state == ServerState::kLive;
  }
  app.of_server = live == 0 ? 0 : app.requests_per_s / static_cast<double>(live);
  const size_t shards = state.map_order.size();
  app.of_shard = shards == 0 ? 0 : app.requests_per_s / static_cast<double>(shards);
  const Duration interval = Milliseconds(state.spec.moves().collect_interval_ms());
  app.judged =
      live > 0 && shards > 0 && app.requests_per_s * InSeconds(interval) >= kLeastRequestsToJudge;
  return app;
}

std::vector<ShardTraffic> TrafficByShard(const PartitionState& state) {
  std::map<ShardIndex, ShardTraffic> by_shard;
  for (const auto& [server, traffic] : state.skew.servers) {
    for (const ReplicaTraffic& replica : traffic.replicas) Add(replica, by_shard[replica.shard]);
  }
  std::vector<ShardTraffic> all;
  all.reserve(by_shard.size());
  for (auto& [shard, traffic] : by_shard) {
    traffic.shard = shard;
    all.push_back(traffic);
  }
  return all;
}

std::optional<ShardTraffic> TrafficOfShard(const PartitionState& state, ShardIndex shard) {
  std::optional<ShardTraffic> all;
  state.tables.ForEach(shard, [&](ReplicaIndex, const Replica& replica) {
    const auto server = state.skew.servers.find(replica.server);
    if (server == state.skew.servers.end()) return;
    const auto& replicas = server->second.replicas;
    const auto found =
        std::lower_bound(replicas.begin(), replicas.end(), shard,
                         [](const ReplicaTraffic& r, ShardIndex id) { return r.shard < id; });
    if (found == replicas.end() || found->shard != shard) return;
    if (!all) all = ShardTraffic{.shard = shard};
    Add(*found, *all);
  });
  return all;
}

std::vector<KeyTotal> TrafficByKey(const PartitionState& state) {
  std::map<std::string, KeyTotal> by_key;
  for (const auto& [server, traffic] : state.skew.servers) {
    for (const KeyTraffic& key : traffic.keys) {
      KeyTotal& total = by_key[key.key];
      total.shard = key.shard;
      total.requests_per_s += key.requests_per_s;
      total.error_per_s += key.error_per_s;
      total.busiest = std::max<double>(total.busiest, key.requests_per_s - key.error_per_s);
      total.sampled += key.sampled;
    }
  }
  std::vector<KeyTotal> all;
  all.reserve(by_key.size());
  for (auto& [key, total] : by_key) {
    total.key = key;
    all.push_back(std::move(total));
  }
  std::sort(all.begin(), all.end(), [](const KeyTotal& a, const KeyTotal& b) {
    return std::tie(b.requests_per_s, a.key) < std::tie(a.requests_per_s, b.key);
  });
  return all;
}

LoadShare GreatestLoadShare(const PartitionState& state, ShardIndex shard) {
  LoadShare greatest;
  state.tables.ForEach(shard, [&](ReplicaIndex id, const Replica& replica) {
    for (size_t metric = 0; metric < state.loads.metrics.size(); ++metric) {
      if (!state.loads.reported.Knows(id, metric)) continue;
      const double capacity = MetricCapacity(state, state.loads.capacity, replica.server, metric);
      if (std::isinf(capacity) || capacity <= 0) continue;
      const double share = state.loads.reported.Of(id, metric) / capacity;
      if (share <= greatest.share) continue;
      greatest = {share, metric, replica.server};
    }
  });
  return greatest;
}

ShardHeat HeatOf(const AppTraffic& app, const ShardTraffic& shard, const LoadShare& load,
                 bool was_hot) {
  ShardHeat heat;
  heat.by_load = load.server.valid() && load.share >= Limit(kHotByLoad, was_hot);
  heat.by_requests = app.judged &&
                     shard.busiest >= Limit(kHotByRequests, was_hot) * app.of_server &&
                     shard.busiest >= Limit(kAboveMeanShard, was_hot) * app.of_shard;
  return heat;
}

bool IsHotKey(const AppTraffic& app, const KeyTotal& key, bool was_hot) {
  return app.judged && key.sampled >= kLeastSamplesOfKey &&
         key.busiest >= Limit(kHotKey, was_hot) * app.of_server;
}

}  // namespace shardmanager::orchestrator
