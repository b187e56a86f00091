// Begins and ends the pause of the app, and the pins of its shards (decide/pause.h).
#pragma once

#include <optional>
#include <vector>

#include "orchestrator/core/agenda.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class Pausing {
 public:
  Pausing(PartitionState& state, Agenda& agenda) : state_(state), agenda_(agenda) {}

  // Of a new leader, or of a spec that has other shards than before: the tables follow what is
  // ordered.
  void Begin();
  void Adopt(const std::optional<v1::Pause>& pause);
  void Adopt(const std::vector<v1::Pin>& pins);

 private:
  void Tell(NoteKind kind, const v1::Pin& pin);
  // What is planned for shards that stay is not carried out later: it would be out of date.
  void ForgetPlans();

  PartitionState& state_;
  Agenda& agenda_;
  std::vector<ShardIndex> pinned_;
};

}  // namespace shardmanager::orchestrator
