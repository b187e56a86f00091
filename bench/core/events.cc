// The orchestrator's core alone, at the size of the largest deployment that the paper
// reports: 1.3 million replicas on 50,000 servers, one partition.
//
//   core_events_per_s           results of commands, one event each, through OnEvent
//                               with all that follows (publishing included)
//   core_metrics_pct            how much longer they take with metrics on (driver_metrics.h); of
//                               the same run, in turns of 10,000 events with and without
//   core_health_ms              what one look at the health of all shards takes, as for metrics
//   core_failover_replicas_per_s  whole failovers: loss, plan, write, commands, results
//   core_bytes_per_replica      heap, with names, key ranges and the spec
//   core_explain_snapshot_ms    what explaining one shard takes of the core's own thread
//   core_explain_ms             and of the solver's: every server looked at
//
// Beside them, in the same run: std_map_updates_per_s, a plain std::map from
// (shard, server) to a state that is found and set at the same random order, as what
// the bookkeeping alone would cost.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "allocator/allocator.h"
#include "allocator/explain.h"
#include "base/random.h"
#include "core/world.h"
#include "daemon/driver_metrics.h"
#include "model/spec/spec_validation.h"
#include "orchestrator/core/partition.h"
#include "orchestrator/decide/snapshot.h"
#include "orchestrator/describe/health.h"
#include "quantile.h"

namespace shardmanager::orchestrator {

int RegionLost();  // core/region_lost.cc

namespace {

constexpr uint32_t kServers = 50'000;
constexpr uint32_t kShards = 1'300'000;
constexpr uint32_t kFailovers = 200;

v1::AppSpec Spec() {
  v1::AppSpec spec;
  spec.set_name("bench");
  for (uint32_t i = 0; i < kShards; ++i) {
    v1::Shard* shard = spec.mutable_key_space()->add_shards();
    shard->set_id(NthShard(i));
    if (i > 0) shard->mutable_range()->set_start(absl::StrFormat("key:%08d", i * 7));
    if (i + 1 < kShards) shard->mutable_range()->set_end(absl::StrFormat("key:%08d", (i + 1) * 7));
  }
  spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  spec.mutable_replication()->set_replicas(1);
  return WithDefaults(std::move(spec));
}

double PlainMapUpdatesPerSecond() {
  std::map<std::pair<uint32_t, uint32_t>, int> states;
  for (uint32_t i = 0; i < kShards; ++i) states[{i, i % kServers}] = 0;
  Random random(3);
  constexpr uint32_t kUpdates = 1'000'000;
  const auto start = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < kUpdates; ++i) {
    const auto shard = static_cast<uint32_t>(random.Below(kShards));
    states.find({shard, shard % kServers})->second = 1;
  }
  return kUpdates / SecondsSince(start);
}

void Shuffle(std::vector<CommandResult>& results) {
  Random random(1);
  for (size_t i = results.size(); i > 1; --i) std::swap(results[i - 1], results[random.Below(i)]);
}

// Without metrics, and with those of a driver, in turns. Events a second without.
double SendInTurns(World& world) {
  constexpr size_t kTurn = 10'000;
  Metrics metrics;
  daemon::DriverMetrics meter(metrics);
  std::vector<CommandResult> results = std::move(world.results());
  world.results().clear();
  std::vector<double> turns[2];  // seconds an event
  double seconds = 0;
  size_t sent = 0;
  for (size_t begin = 0; begin < results.size(); begin += kTurn) {
    const bool measured = begin / kTurn % 2 == 1;
    const size_t end = std::min(results.size(), begin + kTurn);
    const auto start = std::chrono::steady_clock::now();
    for (size_t i = begin; i < end; ++i) {
      if (measured) meter.Commanded(results[i].kind, results[i].outcome, Milliseconds(3));
      world.Send(std::move(results[i]));
    }
    const double took = SecondsSince(start);
    turns[measured].push_back(took / static_cast<double>(end - begin));
    if (measured) continue;
    seconds += took;
    sent += end - begin;
  }
  // Of turns, as a few of them are interrupted.
  Figure("core_metrics_pct", (Quantile(turns[1], 0.5) / Quantile(turns[0], 0.5) - 1) * 100, "%");
  return static_cast<double>(sent) / seconds;
}

int Main() {
  World world;
  const size_t before = HeapBytes();
  {
    Recovered state = StoredPrimaries(Spec(), kServers, kShards);
    std::printf("recovering %u replicas on %u servers\n", kShards, kServers);
    const auto start = std::chrono::steady_clock::now();
    world.Send(std::move(state));
    Figure("core_recover_s", SecondsSince(start), "s");
  }
  world.Pump();
  Shuffle(world.results());
  malloc_trim(0);
  const size_t results = world.results().size();
  const size_t outside = results * sizeof(CommandResult);
  const double per_replica =
      static_cast<double>(HeapBytes() - before - outside) / static_cast<double>(kShards);

  Figure("core_events_per_s", SendInTurns(world), "1/s");
  Figure("core_bytes_per_replica", per_replica, "bytes");
  Figure("core_gib_total", per_replica * kShards / (1 << 30), "GiB");

  auto start = std::chrono::steady_clock::now();
  const Health health = HealthOf(world.partition().state());
  Figure("core_health_ms", SecondsSince(start) * 1e3, "ms");

  start = std::chrono::steady_clock::now();
  size_t moved = 0;
  for (uint32_t i = 0; i < kFailovers; ++i) {
    world.Send(ServerDown{NthServer(i * 11), Incarnation(1), 1, /*departed=*/false});
    world.Pump();
    moved += world.results().size();
    world.SendResults();
    world.Pump();
  }
  const double failover_s = SecondsSince(start);

  start = std::chrono::steady_clock::now();
  const ShardIndex shard = world.partition().state().map_order[kShards / 2];
  const allocator::Snapshot snapshot = ExplainSnapshot(world.partition().state(), shard);
  Figure("core_explain_snapshot_ms", SecondsSince(start) * 1e3, "ms");
  start = std::chrono::steady_clock::now();
  const allocator::Explanation explanation = allocator::Explain(snapshot, {});
  Figure("core_explain_ms", SecondsSince(start) * 1e3, "ms");
  Figure("core_failover_replicas_per_s", static_cast<double>(moved) / failover_s, "1/s");
  Figure("core_failover_server_ms", failover_s * 1e3 / kFailovers, "ms");
  Figure("std_map_updates_per_s", PlainMapUpdatesPerSecond(), "1/s");
  return explanation.candidates.size() == 5 && results == kShards && health.unserved.empty() &&
                 moved >= kFailovers * (kShards / kServers)
             ? 0
             : 1;
}

}  // namespace
}  // namespace shardmanager::orchestrator

int main(int argc, char** argv) {
  using namespace shardmanager::orchestrator;
  if (argc == 1) return Main();
  if (argc == 3 && std::string(argv[1]) == "--scenario" && std::string(argv[2]) == "region-lost") {
    return RegionLost();
  }
  std::fprintf(stderr, "usage: %s [--scenario region-lost]\n", argv[0]);
  return 2;
}
