// What goes wrong, when, and for how long: faults drawn from a seed. Each run has some
// kinds of faults and not others, so that rare combinations come up often. Most end after a
// while, or when everything heals; in some runs a few last for ever.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/simulation/faults/faults.h"

namespace shardmanager::simulation {

class Chaos {
 public:
  // `told`: hears of each fault, for the trace.
  Chaos(Cluster& cluster, Operator& person, Managers& managers, uint64_t seed,
        std::function<void(const std::string&)> told);

  // Faults from now on, until Heal().
  void Start();
  // Undoes all that still holds, and does nothing more.
  void Heal();
  // A server, unless too few are left.
  void LeaveForGood() { simulation::LeaveForGood(scene_); }
  uint64_t faults() const { return faults_; }

 private:
  void PlanLasting();
  void PlanLossesOfMajority();
  void PlanRestartsOfAll();
  // A few times.
  void Plan(Fault fault);
  void Next();

  FaultScene scene_;
  const bool loses_cell_;
  std::vector<Fault> enabled_;
  Duration pause_{};            // between two faults, at most
  std::vector<Fault> lasting_;  // that are still to come
  bool leaves_late_ = false;    // a server, after the other faults
  bool starves_late_ = false;   // a secondary cannot come into step, likewise
  uint64_t faults_ = 0;
};

}  // namespace shardmanager::simulation
