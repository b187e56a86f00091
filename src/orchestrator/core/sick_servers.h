// What follows from a quarantine (quarantine.h) for shards and plans.
#pragma once

#include "orchestrator/core/agenda.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class SickServers {
 public:
  SickServers(PartitionState& state, Agenda& agenda) : state_(state), agenda_(agenda) {}

  // A shard that failed on other servers, too, says nothing about this one.
  void NoteAddFailed(const Replica& replica, const std::string& error);
  void NoteAdded(ServerIndex server);
  void On(QuarantineLifted& event);
  void EndQuarantine(ServerIndex server, const char* why);

 private:
  PartitionState& state_;
  Agenda& agenda_;
};

}  // namespace shardmanager::orchestrator
