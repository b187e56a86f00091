// What follows from records that cannot be read: decide/unread.h.
#pragma once

#include "orchestrator/core/agenda.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class UnreadRecords {
 public:
  UnreadRecords(PartitionState& state, Agenda& agenda) : state_(state), agenda_(agenda) {}

  // Where it is known who had the right to serve a shard when the records were read: one party
  // alone of a move does not tell, as the other one may have it by now.
  void NoteRights();
  // A live server says what it serves. That is no proof of what its record says, but enough
  // to let clients find it: it serves under its own lease.
  void AdoptReported(const ServerReport& report);
  void SetUnreadMembers(const Member& server, const UnreadMembers::Shards& shards);

 private:
  PartitionState& state_;
  Agenda& agenda_;
};

}  // namespace shardmanager::orchestrator
