// One look at a shard: what is to be written for it, asked of servers, or planned.
#pragma once

#include "orchestrator/core/agenda.h"
#include "orchestrator/core/commander.h"
#include "orchestrator/core/failed_shards.h"
#include "orchestrator/core/moves_under_way.h"
#include "orchestrator/core/switchovers_under_way.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class ShardLooks {
 public:
  ShardLooks(PartitionState& state, Agenda& agenda, Commander& commander, MovesUnderWay& moves,
             FailedShards& failed_shards, SwitchoversUnderWay& switchovers)
      : state_(state),
        agenda_(agenda),
        commander_(commander),
        moves_(moves),
        failed_shards_(failed_shards),
        switchovers_(switchovers) {}

  // Decides, and asks for what follows.
  void Look(ShardIndex shard);
  // What should be written for the shard now. Changes nothing but who waits for room among changes
  // of primaries.
  Change Decide(ShardIndex shard);

 private:
  PartitionState& state_;
  Agenda& agenda_;
  Commander& commander_;
  MovesUnderWay& moves_;
  FailedShards& failed_shards_;
  SwitchoversUnderWay& switchovers_;
};

}  // namespace shardmanager::orchestrator
