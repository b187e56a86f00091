// The orchestrator's core alone, at the size of the largest deployment that the paper
// reports: 1.3 million replicas on 50,000 servers, one partition.
//
//   core_events_per_s           results of commands, one event each, through OnEvent
//                               with all that follows (publishing included)
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
#include "model/spec_validation.h"
#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {
namespace {

constexpr uint32_t kServers = 50'000;
constexpr uint32_t kShards = 1'300'000;
constexpr uint32_t kFailovers = 200;

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

size_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void Figure(const char* name, double value, const char* unit) {
  std::printf("FIGURE %s %.6g %s\n", name, value, unit);
}

std::string ServerName(uint32_t i) { return absl::StrFormat("server-%05d", i); }
std::string ShardName(uint32_t i) { return absl::StrFormat("shard-%07d", i); }

v1::AppSpec Spec() {
  v1::AppSpec spec;
  spec.set_name("bench");
  for (uint32_t i = 0; i < kShards; ++i) {
    v1::Shard* shard = spec.mutable_key_space()->add_shards();
    shard->set_id(ShardName(i));
    if (i > 0) shard->mutable_range()->set_start(absl::StrFormat("key:%08d", i * 7));
    if (i + 1 < kShards) shard->mutable_range()->set_end(absl::StrFormat("key:%08d", (i + 1) * 7));
  }
  spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  spec.mutable_replication()->set_replicas(1);
  return WithDefaults(std::move(spec));
}

Recovered StoredState() {
  Recovered state{.spec = Spec()};
  state.servers.resize(kServers);
  for (uint32_t i = 0; i < kServers; ++i) {
    StoredServer& server = state.servers[i];
    server.name = ServerName(i);
    server.registration_version = 1;
    server.live =
        ServerLife{.name = server.name,
                   .incarnation = Incarnation(1),
                   .endpoint = absl::StrFormat("10.0.%d.%d:7000", i / 250, i % 250),
                   .fault_domain = {absl::StrCat("region-", i % 3), absl::StrCat("dc-", i % 12),
                                    absl::StrCat("rack-", i % 600)}};
  }
  for (uint32_t i = 0; i < kShards; ++i) {
    state.servers[i % kServers].assignment.push_back(
        {ShardName(i), Role::kPrimary, ShardEpoch(i + 1), Phase::kGranted});
  }
  return state;
}

// Plays the world: obeys at once, in order, without being measured for it.
class World {
 public:
  World() : partition_({.leader_epoch = LeaderEpoch(7)}) {}

  Partition& partition() { return partition_; }
  std::vector<CommandResult>& results() { return results_; }
  size_t events() const { return events_; }

  void Send(Event event) {
    ++events_;
    now_ += Duration(1);
    Take(partition_.OnEvent(now_, std::move(event)));
  }

  // Everything that is due except command results.
  void Pump() {
    while (!pending_.empty()) {
      std::vector<Event> events = std::exchange(pending_, {});
      for (Event& event : events) Send(std::move(event));
    }
  }

  void SendResults() {
    for (CommandResult& result : std::exchange(results_, {})) Send(std::move(result));
  }

 private:
  void Take(Output<Action> output) {
    for (Action& action : output.actions) {
      if (auto* collect = std::get_if<Collect>(&action)) {
        pending_.push_back(ServerReport{
            .server = collect->server, .incarnation = collect->incarnation, .ok = false});
      } else if (auto* send = std::get_if<SendCommands>(&action)) {
        for (const Grant& g : send->grants) {
          results_.push_back({.kind = send->kind,
                              .server = send->server,
                              .incarnation = send->incarnation,
                              .shard = g.shard,
                              .epoch = g.epoch});
        }
      } else if (auto* persist = std::get_if<Persist>(&action)) {
        pending_.push_back(WriteDone{persist->batch, WriteOutcome::kOk, {}});
      } else if (auto* plan = std::get_if<ComputePlan>(&action)) {
        pending_.push_back(PlanReady{plan->id, allocator::Solve(plan->snapshot, plan->options)});
      }
    }
  }

  Partition partition_;
  TimePoint now_{};
  size_t events_ = 0;
  std::vector<Event> pending_;
  std::vector<CommandResult> results_;
};

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

int Main() {
  World world;
  const size_t before = HeapBytes();
  {
    Recovered state = StoredState();
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

  auto start = std::chrono::steady_clock::now();
  world.SendResults();
  Figure("core_events_per_s", static_cast<double>(results) / SecondsSince(start), "1/s");
  Figure("core_bytes_per_replica", per_replica, "bytes");
  Figure("core_gib_total", per_replica * kShards / (1 << 30), "GiB");

  start = std::chrono::steady_clock::now();
  size_t moved = 0;
  for (uint32_t i = 0; i < kFailovers; ++i) {
    world.Send(ServerDown{ServerName(i * 11), Incarnation(1), 1, /*departed=*/false});
    world.Pump();
    moved += world.results().size();
    world.SendResults();
    world.Pump();
  }
  const double failover_s = SecondsSince(start);

  start = std::chrono::steady_clock::now();
  const ShardIndex shard = world.partition().shard_at(kShards / 2);
  const allocator::Snapshot snapshot = world.partition().ExplainSnapshot(shard);
  Figure("core_explain_snapshot_ms", SecondsSince(start) * 1e3, "ms");
  start = std::chrono::steady_clock::now();
  const allocator::Explanation explanation = allocator::Explain(snapshot, {});
  Figure("core_explain_ms", SecondsSince(start) * 1e3, "ms");
  Figure("core_failover_replicas_per_s", static_cast<double>(moved) / failover_s, "1/s");
  Figure("core_failover_server_ms", failover_s * 1e3 / kFailovers, "ms");
  Figure("std_map_updates_per_s", PlainMapUpdatesPerSecond(), "1/s");
  return explanation.candidates.size() == 5 && results == kShards &&
                 moved >= kFailovers * (kShards / kServers)
             ? 0
             : 1;
}

}  // namespace
}  // namespace shardmanager::orchestrator

int main() { return shardmanager::orchestrator::Main(); }
