// When a plan is asked for, and what is taken over from it.
#pragma once

#include "orchestrator/core/agenda.h"
#include "orchestrator/core/failed_shards.h"
#include "orchestrator/core/load/load_book.h"
#include "orchestrator/core/switchovers_under_way.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

class Planner {
 public:
  Planner(PartitionState& state, Agenda& agenda, LoadBook& load_book,
          SwitchoversUnderWay& switchovers, FailedShards& failed_shards, uint64_t seed)
      : state_(state),
        agenda_(agenda),
        load_book_(load_book),
        switchovers_(switchovers),
        failed_shards_(failed_shards),
        seed_(seed) {}

  // Missing replicas come first; balance is looked at when nothing is missing.
  void Request();
  // A server joined: others may be about to.
  void Gather();
  void SetBalanceTimer();
  // Every move is looked at again when it is used: the world went on meanwhile.
  void On(PlanReady& event);
  // A move that no plan made.
  void On(MoveAsked& event);

 private:
  std::vector<ShardIndex> TakeMissing();
  void ConsiderBalance();
  bool BalanceWaits() const;
  void Send(allocator::Snapshot snapshot, allocator::Mode mode);
  void NoteSkipped(const allocator::Plan& plan);
  void PutHeavyFirst(allocator::Plan& plan);
  void PutUrgentFirst(allocator::Plan& plan);
  // `operation`: as ControlEvent has it; "": what the source is emptied for, if it is.
  void AcceptMove(const allocator::Move& move, std::string operation = {});

  PartitionState& state_;
  Agenda& agenda_;
  LoadBook& load_book_;
  SwitchoversUnderWay& switchovers_;
  FailedShards& failed_shards_;
  const uint64_t seed_;
  uint64_t plan_ = 0;
  bool plan_is_emergency_ = false;
  bool plan_may_balance_ = false;
  bool roles_first_ = false;  // changes of primaries are to relieve servers before replicas move
  TimePoint gather_deadline_ = TimePoint::min();  // and no longer, whoever still joins
};

}  // namespace shardmanager::orchestrator
