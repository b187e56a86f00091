// Where the requests of each shard come from, and where its replicas are to stand for that
// (AppSpec.placement.follow_demand). The one writer of what is wished for a shard by region.
//
// Nothing of it is stored: where a shard's replicas are to stand is, for a new leader, where they
// stand. Its requests decide on from there.
#pragma once

#include <cstddef>

#include "orchestrator/core/agenda.h"
#include "orchestrator/decide/load/demand.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class DemandBook {
 public:
  DemandBook(PartitionState& state, Agenda& agenda) : state_(state), agenda_(agenda) {}

  // The spec is new. Shards of the layout are to ask Prefer() then.
  void AdoptSpec();
  // The shard is asked for in this region; 0: in none. `for_itself`: and not with all others.
  void Prefer(ShardIndex id, uint32_t region, bool for_itself);
  // Of a new leader, once it knows who has what.
  void Recover();
  // What a server said of the requests that it was sent.
  void Record(ShardIndex id, const HeldReplica& held);
  // On TimerKind::kDemand.
  void Look();

 private:
  Duration LookAgain() const;
  void SeeRegions();
  // True: its replicas are to stand elsewhere from now on.
  bool LookAt(ShardIndex id);
  bool Settle(ShardIndex id);
  // It is not known any more where its requests come from.
  void Forget(ShardIndex id);
  RegionWishes WishesNow(ShardIndex id);
  void Wish(ShardIndex id, RegionWishes wishes);
  void ShowPreference(ShardIndex id);
  ShardDemand& At(ShardIndex id) { return state_.demand.shards[id.index()]; }

  PartitionState& state_;
  Agenda& agenda_;
  bool timer_is_set_ = false;
};

}  // namespace shardmanager::orchestrator
