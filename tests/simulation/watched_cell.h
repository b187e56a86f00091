// A simulated cell with all that acts on it and watches it, and the time that passes there.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "tests/simulation/cell/cluster.h"
#include "tests/simulation/cell/sim_manager.h"
#include "tests/simulation/checkers.h"
#include "tests/simulation/operator.h"
#include "tests/simulation/restart_checker.h"
#include "tests/simulation/simulation.h"

namespace shardmanager::simulation {

// The cell is at rest when no assignment was written for so long. After faults the wait is longer,
// as what failed is tried again at growing intervals.
inline constexpr Duration kRestAfterFaults = Seconds(25);
inline constexpr Duration kRestAfterPlans = Seconds(10);
// Whoever waits for something looks again after so long.
inline constexpr Duration kLook = Milliseconds(500);

class WatchedCell {
 public:
  explicit WatchedCell(const SimulationOptions& options);
  ~WatchedCell();
  WatchedCell(const WatchedCell&) = delete;
  WatchedCell& operator=(const WatchedCell&) = delete;

  const SimulationOptions options;
  Random random;
  Checkers checkers;

 private:
  const ClusterOptions drawn_;

 public:
  Cluster cluster;
  Operator person;
  Managers managers;  // of all regions; none until a rollout begins
  RestartChecker restarts;

  // ---- what is expected ----
  // Of these shards, from now on: only planned things happen.
  std::optional<v1::AppSpec> full_service;
  // Replicas of each shard that may be away meanwhile, if any.
  std::optional<size_t> may_be_away;
  // Nothing was wrong so far.
  bool well() const { return checkers.violation().empty(); }

  // ---- time ----
  // Several times a second the checkers look at everything.
  void KeepSweeping();
  // False: something is wrong.
  bool RunUntil(TimePoint end);
  bool RunFor(Duration time) { return RunUntil(cluster.schedule.now() + time); }
  // Shards have other loads now and then.
  void KeepChangingLoads(TimePoint until);
  // Until all is well and nothing has been written for a while (invariant D).
  void AwaitRest(const std::string& since, int patience = 1);
  // What was acknowledged is stored (invariant C).
  void CheckAcknowledged();
  // Until the operator's change is acknowledged.
  void AwaitAcknowledged();

  // ---- what happens ----
  void RollOut(Restarts how);
  void RestartLeader();

  // 0 to `bound` - 1.
  int Draw(int bound) { return static_cast<int>(random.Below(static_cast<uint64_t>(bound))); }
  void Trace(const std::string& what);
  // The same, and no part of the digest.
  void Print(const std::string& what) const;

 private:
  bool asks_leaders_ = false;  // in this sweep
};

}  // namespace shardmanager::simulation
