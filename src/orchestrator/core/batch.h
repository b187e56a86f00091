// Batches: what is written together, and what becomes true when it is durable. One is out at a
// time; what comes up meanwhile goes into the next one (group commit).
#pragma once

#include "orchestrator/core/agenda.h"
#include "orchestrator/core/drains.h"
#include "orchestrator/core/failed_shards.h"
#include "orchestrator/core/load/load_book.h"
#include "orchestrator/core/member_teller.h"
#include "orchestrator/core/moves_under_way.h"
#include "orchestrator/core/shard_looks.h"
#include "orchestrator/core/switchovers_under_way.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class Batch {
 public:
  Batch(PartitionState& state, Agenda& agenda, ShardLooks& looks, FailedShards& failed_shards,
        SwitchoversUnderWay& switchovers, MemberTeller& members, LoadBook& load_book,
        Drains& drains, MovesUnderWay& moves)
      : state_(state),
        agenda_(agenda),
        looks_(looks),
        failed_shards_(failed_shards),
        switchovers_(switchovers),
        members_(members),
        load_book_(load_book),
        drains_(drains),
        moves_(moves) {}

  // Puts what waits into a batch, if none is out, and asks for its write.
  void Form();
  void On(WriteDone& event);

 private:
  size_t CostOf(const Change& change) const;
  void Stage(ShardIndex shard, const Change& change);
  void Enlist(ShardIndex shard);
  void StageChange(const PhaseChange& change);
  bool ApplyNextGrant(ReplicaIndex id, Phase before);
  void StageNew(ShardIndex shard, const Change& change, const NewReplica& fresh);
  void Touch(ServerIndex server);
  void Send();
  void Apply();
  void Revert();
  void NoteStays(const Replica& old_owner);
  void RecordRefused(ServerIndex server);

  PartitionState& state_;
  Agenda& agenda_;
  ShardLooks& looks_;
  FailedShards& failed_shards_;
  SwitchoversUnderWay& switchovers_;
  MemberTeller& members_;
  LoadBook& load_book_;
  Drains& drains_;
  MovesUnderWay& moves_;
  uint64_t number_ = 0;  // of the newest one
  std::vector<ShardIndex> shards_;
  std::vector<ServerIndex> servers_;
  absl::flat_hash_map<ReplicaIndex, NextGrant> next_grants_;  // in the batch that is out
};

}  // namespace shardmanager::orchestrator
