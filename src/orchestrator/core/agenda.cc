#include "orchestrator/core/agenda.h"

#include "base/defect.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {

void Agenda::MarkDirty(ShardIndex shard) {
  state_.balance.at_rest = false;
  if (std::exchange(state_.tables.shard(shard).dirty, true)) return;
  dirty_.push_back(shard);
}

void Agenda::MarkServerDirty(ServerIndex server) {
  for (ReplicaIndex id : state_.tables.server(server).replicas) {
    MarkDirty(state_.tables.replica(id).shard);
  }
}

void Agenda::MarkAllDirty() {
  for (uint32_t i = 0; i < state_.tables.shard_count(); ++i) MarkDirty(ShardIndex(i));
}

ShardIndex Agenda::TakeDirty() {
  if (dirty_.empty()) return ShardIndex();
  const ShardIndex shard = dirty_.front();
  dirty_.pop_front();
  state_.tables.shard(shard).dirty = false;
  return shard;
}

void Agenda::WantWrite(ShardIndex shard) {
  if (std::exchange(state_.tables.shard(shard).waits_for_write, true)) return;
  state_.writes.queue.push_back(shard);
}

void Agenda::MarkPublish(ShardIndex shard) {
  Shard& s = state_.tables.shard(shard);
  if (s.map_index == Shard::kNotInMap || std::exchange(s.publish, true)) return;
  publish_.push_back(shard);
}

void Agenda::BalanceAnew() {
  state_.balance.at_rest = false;
  LookAtBalance();
}

void Agenda::LookForPlaces() {
  BalanceAnew();
  RetryUnplaceable();
}

void Agenda::AddNote(NoteKind kind, ServerIndex server, ShardIndex shard, std::string detail,
                     std::string operation) {
  if (operation.empty() && shard.valid()) operation = OperationOf(state_, shard);
  Do(Note{kind, server, shard, std::move(detail), std::move(operation)});
}

Output<Action> Agenda::TakeOutput() {
  out_.next_wake = timers_.next();
  return std::exchange(out_, {});
}

void Agenda::EndWith(Action last) {
  out_ = {};
  timers_ = {};
  Do(std::move(last));
}

void Agenda::SetTimer(Duration delay, TimerKind kind, uint32_t id) {
  timers_.Set(state_.now + delay, kind, id);
}

ShardEpoch Agenda::NextEpoch() {
  if (Planted(Defect::kEpochsBeginAnew)) return ShardEpoch(++epochs_given_);
  return ShardEpoch(leader_epoch_.value() << 32 | ++epochs_given_);
}

}  // namespace shardmanager::orchestrator
