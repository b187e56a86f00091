// Servers that are to be emptied, and get nothing new: for operators, for container operations, and
// for maintenances.
#pragma once

#include "orchestrator/core/agenda.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class Drains {
 public:
  Drains(PartitionState& state, Agenda& agenda) : state_(state), agenda_(agenda) {}

  // What is asked for the server changed, or where it stands.
  void UpdateDrain(ServerIndex server);
  // Perhaps the last one has left it.
  void NoteDrained(ServerIndex server);

 private:
  void UpdateOrder(ServerIndex server, const ServerOrder& order);
  void UpdateShedding(ServerIndex server, const ServerOrder& order);

  PartitionState& state_;
  Agenda& agenda_;
};

}  // namespace shardmanager::orchestrator
