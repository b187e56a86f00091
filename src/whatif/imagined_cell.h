// A cell that exists in memory only: the real core of the orchestrator, a store that takes every
// write at once, and servers that obey. Time is virtual.
#pragma once

#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "orchestrator/core/partition.h"
#include "shardmanager/v1/what_if.pb.h"

namespace shardmanager::whatif {

// Not thread-safe.
class ImaginedCell {
 public:
  // What a replica of the shard carries now.
  using LoadOfShard = std::function<std::vector<orchestrator::MetricAmount>(const std::string&)>;

  // As it was when the snapshot was taken, but for moves: none is under way. `load_time`: what a
  // server takes to load a shard.
  ImaginedCell(const v1::AppSnapshot& snapshot, Duration load_time);

  // ---- what happens, all of it at once when time passes next ----
  void Lose(const std::string& server);
  // All loads are so many times those of the snapshot from now on.
  void SetLoadFactor(double factor) { load_factor_ = factor; }
  // Loads are these from now on, and nothing that the snapshot says.
  void SetLoads(LoadOfShard loads) { own_loads_ = std::move(loads); }
  void Join(orchestrator::ServerLife life);
  void Apply(const v1::AppSpec& spec, orchestrator::OperatorOrders ordered);

  // ---- time passes ----
  void Run(Duration time);
  // Runs until nothing but the collection of loads has happened for `quiet`. False: `most` has
  // passed before that.
  bool RunToRest(Duration quiet, Duration most);

  // ---- what is seen ----
  const orchestrator::PartitionState& state() const { return partition_.state(); }
  TimePoint now() const { return now_; }
  // Of the last RunToRest(): when a server or the store last did something, and when the last
  // shard that can be served came to be.
  TimePoint last_step() const { return last_step_; }
  TimePoint last_served() const { return last_served_; }
  // How often servers were told to load a shard.
  uint32_t loads_begun() const { return loads_begun_; }
  const orchestrator::OperatorOrders& ordered() const { return ordered_; }
  v1::AppSnapshot Snapshot() const;

 private:
  struct Held {
    ShardEpoch epoch;
    Role role = Role::kPrimary;
  };
  struct Server {
    Incarnation incarnation;
    bool live = false;
    std::map<std::string, Held> held = {};
    std::set<std::string> prepared = {};
  };
  struct Loads {
    std::vector<orchestrator::MetricAmount> of_role[2];  // primary, secondary
  };
  // A load that is under way, and its answer.
  struct Later {
    TimePoint due;
    uint64_t number = 0;  // keeps the order of those due at once
    orchestrator::CommandResult result;
    Held held;
    friend bool operator>(const Later& a, const Later& b) {
      return std::pair(a.due, a.number) > std::pair(b.due, b.number);
    }
  };

  // What the snapshot says of a server, and then of a shard, as the store and the servers have it.
  void Store(const v1::ServerStatus& server, const v1::AppSpec& spec,
             std::map<std::string, orchestrator::StoredServer>& stored);
  void Store(const v1::ShardStatus& shard,
             std::map<std::string, orchestrator::StoredServer>& stored);
  void RememberLoads(const v1::AppSnapshot& snapshot);
  void RememberDemand(const v1::AppSnapshot& snapshot);
  void Pump();
  void Carry(Output<orchestrator::Action> output);
  void Do(orchestrator::SendCommands& action);
  void Do(orchestrator::Collect& action);
  void Obey(const orchestrator::SendCommands& action, const orchestrator::Grant& grant);
  // The next thing that happens, at `next` at the earliest.
  void Step(TimePoint next);
  TimePoint NextStep() const;
  void FinishLoads();
  void NoteServed();
  std::vector<orchestrator::MetricAmount> LoadOf(const std::string& shard, Role role) const;
  double ShareOf(const std::string& shard, const std::string& metric) const;
  Server& At(ServerIndex server);

  const Duration load_time_;
  double load_factor_ = 1;
  LoadOfShard own_loads_;
  orchestrator::Partition partition_;
  orchestrator::OperatorOrders ordered_;
  std::string shared_metric_;  // by which the number of replicas follows the load, or did
  std::map<std::string, Server> servers_;
  std::map<std::string, std::vector<orchestrator::RequestsFrom>> requests_;  // by shard
  std::map<std::string, Loads> loads_;                                       // by shard
  std::map<std::string, uint32_t> replicas_before_;  // that told a load, by shard
  std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
  std::vector<orchestrator::Event> pending_;
  TimePoint now_{};
  TimePoint next_wake_ = kNever;
  TimePoint last_step_{};
  TimePoint last_served_{};
  uint32_t served_ = 0;
  uint32_t loads_begun_ = 0;
  uint64_t numbers_ = 0;
};

// As the server registered.
orchestrator::ServerLife LifeOf(const v1::AppSpec& spec, const v1::ServerStatus& server);

}  // namespace shardmanager::whatif
