// What the benchmarks of the orchestrator's core have in common: a world that obeys.
#pragma once

#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "allocator/allocator.h"
#include "orchestrator/core/partition.h"

namespace shardmanager::orchestrator {

inline double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline size_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

inline void Figure(const char* name, double value, const char* unit) {
  std::printf("FIGURE %s %.6g %s\n", name, value, unit);
  std::fflush(stdout);  // a long run shows what it has
}

inline std::string NthServer(uint32_t i) { return absl::StrFormat("server-%05d", i); }
inline std::string NthShard(uint32_t i) { return absl::StrFormat("shard-%07d", i); }

// What the store knows of live servers without shards: server i in region i % 3.
inline Recovered StoredServers(v1::AppSpec spec, uint32_t servers) {
  Recovered state{.spec = std::move(spec)};
  state.servers.resize(servers);
  for (uint32_t i = 0; i < servers; ++i) {
    StoredServer& server = state.servers[i];
    server.name = NthServer(i);
    server.registration_version = 1;
    server.live =
        ServerLife{.name = server.name,
                   .incarnation = Incarnation(1),
                   .endpoint = absl::StrFormat("10.0.%d.%d:7000", i / 250, i % 250),
                   .fault_domain = {absl::StrCat("region-", i % 3), absl::StrCat("dc-", i % 12),
                                    absl::StrCat("rack-", i % 600)}};
  }
  return state;
}

// The same; server i % servers has the primary of shard i.
inline Recovered StoredPrimaries(v1::AppSpec spec, uint32_t servers, uint32_t shards) {
  Recovered state = StoredServers(std::move(spec), servers);
  for (uint32_t i = 0; i < shards; ++i) {
    state.servers[i % servers].assignment.push_back(
        {NthShard(i), Role::kPrimary, ShardEpoch(i + 1), Phase::kGranted});
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

  // What the passage of time brings.
  void Advance(Duration time) {
    now_ += time;
    Take(partition_.OnAdvance(now_));
  }

  // Plans wait for FinishPlans.
  bool hold_plans = false;
  // Makes the plans that were asked for; they are handed in by Pump. Returns the seconds it took.
  double FinishPlans() {
    const auto start = std::chrono::steady_clock::now();
    for (const ComputePlan& plan : std::exchange(plans_, {})) {
      last_plan_ = allocator::Solve(plan.snapshot, plan.options);
      pending_.push_back(PlanReady{plan.id, last_plan_});
    }
    return SecondsSince(start);
  }
  // The same, with the result of the last plan: right if nothing has changed since.
  void RepeatPlans() {
    for (const ComputePlan& plan : std::exchange(plans_, {})) {
      pending_.push_back(PlanReady{plan.id, last_plan_});
    }
  }
  const std::vector<ComputePlan>& plans() const { return plans_; }

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
        plans_.push_back(std::move(*plan));
        if (!hold_plans) FinishPlans();
      }
    }
  }

  Partition partition_;
  TimePoint now_{};
  size_t events_ = 0;
  std::vector<Event> pending_;
  std::vector<CommandResult> results_;
  std::vector<ComputePlan> plans_;
  allocator::Plan last_plan_;
};

}  // namespace shardmanager::orchestrator
