// What faults are made with: the cell, an operator, chance, and a list of what is to be undone.
#pragma once

#include <functional>
#include <list>
#include <string>

#include "tests/simulation/cell/cluster.h"
#include "tests/simulation/cell/sim_manager.h"
#include "tests/simulation/operator.h"

namespace shardmanager::simulation {

class FaultScene {
 public:
  // `told`: hears of each fault, for the trace.
  FaultScene(Cluster& cell, Operator& someone, Managers& all_managers, uint64_t seed,
             std::function<void(const std::string&)> told)
      : cluster(cell),
        person(someone),
        managers(all_managers),
        random(seed),
        told_(std::move(told)) {}

  Cluster& cluster;
  Operator& person;
  Managers& managers;  // none: no rollout
  Random random;

  void Begin() { on_ = true; }
  // Undoes all that still holds. Nothing is to go wrong from here on.
  void UndoAll();
  bool on() const { return on_; }

  // Undoes a fault after a while, or when everything heals.
  void Until(Duration most, std::function<void()> undo) { UntilAfter(UpTo(most), std::move(undo)); }
  void UntilAfter(Duration exactly, std::function<void()> undo);

  // ---- drawn
  Duration UpTo(Duration most);
  const std::string& SomeServer();
  const std::string& SomeControl();
  std::string SomeHost();  // either

  void Tell(const std::string& what) { told_(what); }

 private:
  const std::function<void(const std::string&)> told_;
  bool on_ = false;
  std::list<std::function<void()>> undos_;
};

}  // namespace shardmanager::simulation
