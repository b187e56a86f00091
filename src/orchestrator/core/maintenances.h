// Maintenances of which the app has notice: tells when one is to be prepared for, begins, and ends,
// and what it hits. What follows for each server is in decide/drains.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orchestrator/core/agenda.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class Maintenances {
 public:
  Maintenances(PartitionState& state, Agenda& agenda) : state_(state), agenda_(agenda) {}

  // Those in the state were read with the records.
  void Begin();
  void Adopt(std::vector<PlannedMaintenance> maintenances);
  // TimerKind::kMaintenance: something about one of them changes with the time.
  void Look();

 private:
  struct Told {
    MaintenanceStage stage = MaintenanceStage::kAhead;
    bool warned = false;  // that it is not prepared for
  };

  void Tell(const PlannedMaintenance& maintenance);
  void TellHits(const PlannedMaintenance& maintenance, const std::string& when);

  PartitionState& state_;
  Agenda& agenda_;
  std::map<std::string, Told> told_;  // by id
};

}  // namespace shardmanager::orchestrator
