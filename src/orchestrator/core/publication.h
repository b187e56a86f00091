// When the map is published: once enough servers have said what they hold, then at most every few
// milliseconds.
#pragma once

#include <cstdint>
#include <vector>

#include "orchestrator/core/agenda.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class Publication {
 public:
  Publication(PartitionState& state, Agenda& agenda) : state_(state), agenda_(agenda) {}

  // A live server has not said what it holds: the first map waits for it, until PastDeadline().
  void Await() { ++unreported_; }
  void Reported() { --unreported_; }
  void PastDeadline() { deadline_passed_ = true; }

  // All shards are to be published, and not only those that are marked.
  void MarkWhole() { whole_ = true; }
  // Told of in the event log after the map that shows it.
  void FailoverFinished(ServerIndex server) { finished_failovers_.push_back(server); }

  // At the end of a pass.
  void Flush();
  // TimerKind::kPublish.
  void OnTimer() { timer_set_ = false; }

 private:
  bool Ready() const;

  PartitionState& state_;
  Agenda& agenda_;
  uint32_t unreported_ = 0;
  bool deadline_passed_ = false;
  bool whole_ = false;
  bool published_ = false;
  bool timer_set_ = false;
  TimePoint last_{};
  std::vector<ServerIndex> finished_failovers_;
};

}  // namespace shardmanager::orchestrator
