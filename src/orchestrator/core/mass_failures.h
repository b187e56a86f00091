// When a mass failure begins and ends (MassFailurePolicy in app_spec.proto), and what changes with
// it.
#pragma once

#include <cstdint>
#include <string>

#include "orchestrator/core/agenda.h"
#include "orchestrator/core/fleet.h"
#include "orchestrator/core/moves_under_way.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class MassFailures {
 public:
  MassFailures(PartitionState& state, Agenda& agenda, MovesUnderWay& moves, Fleet& fleet)
      : state_(state), agenda_(agenda), moves_(moves), fleet_(fleet) {}

  // There is a new spec.
  void Adopt();
  // Lost servers may be back, or their replicas with others. To be called every few seconds.
  void Look();
  // A server was lost. (Counts them only when there can be news.)
  void LookAfterLoss();

 private:
  void Turn(bool on, const std::string& why);

  PartitionState& state_;
  Agenda& agenda_;
  MovesUnderWay& moves_;
  Fleet& fleet_;
  uint32_t losses_until_look_ = 0;
};

}  // namespace shardmanager::orchestrator
