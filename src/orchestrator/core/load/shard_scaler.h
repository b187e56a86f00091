// The number of replicas of each shard follows its load (AppSpec.scaling): more at once, fewer
// slowly.
//
// Nothing of it is stored: how many replicas a shard is to have is, for a new leader, how many it
// has. So what was decided lives on in the assignments, and the load decides on from there.
#pragma once

#include <vector>

#include "orchestrator/core/agenda.h"
#include "orchestrator/decide/load/scaling.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class ShardScaler {
 public:
  ShardScaler(PartitionState& state, Agenda& agenda) : state_(state), agenda_(agenda) {}

  // The spec is new. Shards of the new layout are to ask Wanted() then.
  void AdoptSpec();
  // How many replicas a shard of the layout is to have.
  uint16_t Wanted(ShardIndex id);
  // Of a new leader, once it knows who has what.
  void Recover();
  // On TimerKind::kScale.
  void Look();

 private:
  static constexpr Duration kLookAgain = Seconds(5);

  bool HasMoreTakers();
  void LookAt(ShardIndex id, std::vector<ShardIndex>& up, std::vector<ShardIndex>& down);
  void GiveUpRoom(ShardIndex id);
  void ShareLoad(ShardIndex id);
  void Change(ShardIndex id, uint8_t wanted);
  void SetWanted(ShardIndex id, uint8_t wanted);
  // How many more replicas may be added and dropped now.
  size_t ChangesLeft();
  ScaledShard& At(ShardIndex id) { return state_.scaling.shards[id.index()]; }

  PartitionState& state_;
  Agenda& agenda_;
  bool timer_is_set_ = false;
  std::vector<bool> took_;  // by ServerIndex: it could take replicas at the last look
};

}  // namespace shardmanager::orchestrator
