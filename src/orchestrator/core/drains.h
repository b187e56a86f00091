// Servers that are to be emptied, and get nothing new: for operators, and for container operations.
#pragma once

#include "orchestrator/core/agenda.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class Drains {
 public:
  Drains(PartitionState& state, Agenda& agenda) : state_(state), agenda_(agenda) {}

  void AdoptDrains(const std::vector<v1::Drain>& drains);
  // Container operations changed what they ask for.
  void AdoptOrders(std::vector<ServerOrder> orders);
  // The drains changed, or where the server stands.
  void UpdateDrain(ServerIndex server);
  // Perhaps the last one has left it.
  void NoteDrained(ServerIndex server);

 private:
  void UpdateOrder(ServerIndex server);
  void UpdateShedding(ServerIndex server);

  PartitionState& state_;
  Agenda& agenda_;
};

}  // namespace shardmanager::orchestrator
