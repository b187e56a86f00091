// What follows when a change of a primary begins and ends. Who it is to be: decide/roles.h.
#pragma once

#include "orchestrator/core/agenda.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class SwitchoversUnderWay {
 public:
  SwitchoversUnderWay(PartitionState& state, Agenda& agenda) : state_(state), agenda_(agenda) {}

  // The change is being written. Who is to be the next one stays the same to its end.
  void Begin(ShardIndex shard);
  // Another server is its primary, as planned.
  void BeginPause(ShardIndex shard);
  // A shard whose server is to be emptied does not wait for the next periodic look at the balance.
  void EndPause(ShardIndex shard);
  // After a write of the shard: the change is over when nobody is being demoted.
  void End(ShardIndex shard);
  // Whoever waits first for room is looked at: it takes it, waits on, or wakes the next one.
  void WakeWaiter();
  // Where servers are beyond their limits, begins with the changes of primaries that bring them
  // nearer. True: such changes are to be done, or are under way; replicas move after that.
  bool RelieveServers();
  // Evens out how many primaries servers have, where no replica needs to move for it. A few at
  // a time; it is called again when these are done. No server is taken beyond its limits for it.
  void BalancePrimaries();

 private:
  PartitionState& state_;
  Agenda& agenda_;
};

}  // namespace shardmanager::orchestrator
