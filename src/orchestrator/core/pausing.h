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

  // A new leader: the tables follow what is ordered.
  void Begin() { MarkPinned(state_.ordered.pins, true); }
  void Adopt(const std::optional<v1::Pause>& pause);
  // After the spec is adopted: it may have shards that were pinned before it had them.
  void Adopt(const std::vector<v1::Pin>& pins);

 private:
  // Of shards that are known.
  void MarkPinned(const std::vector<v1::Pin>& pins, bool pinned);
  void Tell(NoteKind kind, const v1::Pin& pin);
  // What is planned for shards that stay is not carried out later: it would be out of date.
  void ForgetPlans();

  PartitionState& state_;
  Agenda& agenda_;
};

}  // namespace shardmanager::orchestrator
