// What one pass of the partition has to do, and what comes out of it: shards to look at, commands,
// timers, notes for the event log, actions.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/state_machine.h"
#include "orchestrator/state/partition_io.h"
#include "orchestrator/state/partition_state.h"
#include "orchestrator/state/timers.h"

namespace shardmanager::orchestrator {

class Agenda {
 public:
  // `epochs_given`: grants of this leader that are out.
  Agenda(PartitionState& state, LeaderEpoch leader_epoch, uint32_t epochs_given)
      : state_(state), leader_epoch_(leader_epoch), epochs_given_(epochs_given) {}

  // ---- shards to be looked at in this pass ----
  void MarkDirty(ShardIndex shard);
  void MarkServerDirty(ServerIndex server);  // all that the server has a replica of
  void MarkAllDirty();
  // Invalid: there is none.
  ShardIndex TakeDirty();

  // ---- shards for later steps of the pass ----
  void WantWrite(ShardIndex shard);    // for the next batch
  void MarkPublish(ShardIndex shard);  // for the next map
  std::vector<ShardIndex> TakePublish() { return std::exchange(publish_, {}); }
  bool anything_to_publish() const { return !publish_.empty(); }

  // ---- for plans ----
  // Servers may take what they could not take before.
  void LookForPlaces();
  // Shards without a place are tried again.
  void RetryUnplaceable() { retry_soon_ = true; }
  bool retry_soon() const { return retry_soon_; }
  void Retried() { retry_soon_ = false; }
  void LookAtBalance() { balance_soon_ = true; }
  // Something has changed: the balance may be a better one.
  void BalanceAnew();
  void LookedAtBalance() { balance_soon_ = false; }
  bool balance_soon() const { return balance_soon_; }

  // ---- commands ----
  void Send(Outbox command) { outbox_.push_back(std::move(command)); }
  std::vector<Outbox> TakeCommands() { return std::exchange(outbox_, {}); }

  // ---- what comes out ----
  void Do(Action action) { out_.actions.push_back(std::move(action)); }
  // `operation`: what it came of; "": what the shard moves for, if it does.
  void AddNote(NoteKind kind, ServerIndex server, ShardIndex shard, std::string detail = {},
               std::string operation = {});
  Output<Action> TakeOutput();
  // Nothing but `last` comes out any more.
  void EndWith(Action last);

  void SetTimer(Duration delay, TimerKind kind, uint32_t id = 0);
  Timers& timers() { return timers_; }
  const Timers& timers() const { return timers_; }

  // Above all epochs that were granted before, by whomever.
  ShardEpoch NextEpoch();
  uint32_t epochs_given() const { return epochs_given_; }

 private:
  PartitionState& state_;
  const LeaderEpoch leader_epoch_;
  uint32_t epochs_given_;
  Output<Action> out_;
  Timers timers_;
  std::deque<ShardIndex> dirty_;
  std::vector<ShardIndex> publish_;
  std::vector<Outbox> outbox_;
  bool retry_soon_ = false;
  bool balance_soon_ = false;
};

}  // namespace shardmanager::orchestrator
