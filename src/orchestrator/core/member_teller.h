// What primaries are told of their members, and what they say. Who is to be one: decide/members.h.
#pragma once

#include "orchestrator/core/agenda.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class MemberTeller {
 public:
  MemberTeller(PartitionState& state, Agenda& agenda) : state_(state), agenda_(agenda) {}

  // With a grant to the primary: it serves when it goes by them, or by those of an earlier grant
  // of the same epoch, whose answer was lost or came to another leader. So its yes says nothing
  // about them, and TellMembers follows.
  std::vector<ServerIndex> MembersInGrant(ShardIndex shard);
  // Tells a primary that serves what has changed.
  void TellMembers(ShardIndex shard, const Replica& primary);
  void OnMembers(const CommandResult& event);
  void RetryMembers(ShardIndex shard);
  // The same, and no secondary that could not be brought into step waits any longer.
  void RetryAll(ShardIndex shard);
  void ForgetMembers(ShardIndex shard);

 private:
  void CandidateFailed(ShardIndex shard, ToldMembers& membership);

  PartitionState& state_;
  Agenda& agenda_;
};

}  // namespace shardmanager::orchestrator
