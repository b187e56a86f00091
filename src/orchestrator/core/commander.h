// What servers are asked to do, what they answer, and when they are asked again: one timer for a
// shard that a server could not add or drop, one for all commands to a server that could not be
// reached.
#pragma once

#include "orchestrator/core/agenda.h"
#include "orchestrator/core/failed_shards.h"
#include "orchestrator/core/member_teller.h"
#include "orchestrator/core/moves_under_way.h"
#include "orchestrator/core/sick_servers.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class Commander {
 public:
  Commander(PartitionState& state, Agenda& agenda, MemberTeller& members,
            FailedShards& failed_shards, SickServers& sick_servers, MovesUnderWay& moves)
      : state_(state),
        agenda_(agenda),
        members_(members),
        failed_shards_(failed_shards),
        sick_servers_(sick_servers),
        moves_(moves) {}

  // Asks servers for what durable phases demand of them.
  void Command(ShardIndex shard);
  // One action for each server and kind, in the order in which servers first came up.
  void Flush();
  void RetryServer(ServerIndex server);
  void RetryShard(ShardIndex shard);
  // The server serves the replica, as it was asked to.
  void AddDone(ReplicaIndex id);
  void NoteMoved(const Replica& replica);
  void On(CommandResult& event);
  void On(LaterLeaderSeen& event);
  void On(RetryAsked& event);

 private:
  void CommandFailed(ReplicaIndex id, const CommandResult& event);
  void ServerUnreachable(ServerIndex id);
  void GotThrough(ServerIndex id);

  PartitionState& state_;
  Agenda& agenda_;
  MemberTeller& members_;
  FailedShards& failed_shards_;
  SickServers& sick_servers_;
  MovesUnderWay& moves_;
  absl::flat_hash_map<ServerIndex, TimePoint> retry_at_;  // of those with a retry_timer
};

}  // namespace shardmanager::orchestrator
