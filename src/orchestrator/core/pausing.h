// Begins and ends the pause of the app (decide/pause.h).
#pragma once

#include <optional>

#include "orchestrator/core/agenda.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class Pausing {
 public:
  Pausing(PartitionState& state, Agenda& agenda) : state_(state), agenda_(agenda) {}

  void Adopt(const std::optional<v1::Pause>& pause);

 private:
  PartitionState& state_;
  Agenda& agenda_;
};

}  // namespace shardmanager::orchestrator
