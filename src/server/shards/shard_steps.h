// What a shard is doing: from one state of shard_book.h's pictures to the next.
#pragma once

#include "absl/status/status.h"
#include "base/time.h"
#include "server/shards/shard_events.h"
#include "server/shards/shard_state.h"
#include "server/shards/shard_timers.h"

namespace shardmanager::server {

// Begins a step when the book asks for it. When a method of the application returns, the last
// request ends or a time-out passes, the next step is decided from the entry as it is then: carry
// out `entry.next`, drop the shard, or nothing.
class ShardSteps {
 public:
  explicit ShardSteps(BookState& book) : book_(book) {}

  // ---- for the book: what is wanted is in the entry ----

  // Now, or when the shards are gone that it comes after. REQUIRES: nothing of the shard is at
  // work.
  void Begin(ShardEntry& entry, const WantedGrant& given);
  // Those that have waited for others, and need not any more.
  void BeginThoseBehind();
  void Load(ShardEntry& entry);
  // To everybody, or to what the old owner forwards.
  void Open(ShardEntry& entry);
  // Admits nothing more, and goes on when no request is in flight. May be repeated: the wait begins
  // anew.
  void Drain(ShardEntry& entry);
  // REQUIRES: it serves, and has a successor.
  void Leave(ShardEntry& entry);
  // Calls PrepareDropShard, unless UpdateMembership is at work: then that calls this when it ends.
  void PrepareDrop(ShardEntry& entry);
  // REQUIRES: no request is in flight.
  void BeginDrop(ShardEntry& entry);
  // For the old owner: nothing is served, held or forwarded from here on. The step that is at work
  // still ends with the drop.
  void EndHandover(ShardEntry& entry);
  void Forward(ShardEntry& entry);
  // Forwarding ends when the linger time has passed.
  void Linger(ShardEntry& entry);
  void EndForwarding(ShardEntry& entry);

  // ---- what happens ----
  void On(const HandlerDone& done);
  void On(const Forwarded& event);
  void On(const Progress& event);
  void On(const Drained& event);
  // What is due at book.now; sets book.out.next_wake.
  void OnTime();

 private:
  void Regrant(ShardEntry& entry, const WantedGrant& given);
  void Prepared(ShardEntry& entry, const absl::Status& status);
  void Loaded(ShardEntry& entry, const absl::Status& status);
  void RoleChanged(ShardEntry& entry, const absl::Status& status);
  void DropPrepared(ShardEntry& entry, const absl::Status& status);
  void Dropped(ShardEntry& entry, const absl::Status& status);
  void GrantFailed(ShardEntry& entry, const absl::Status& status);
  bool CallOff(ShardEntry& entry);
  void RetryLater(ShardEntry& entry);
  void Enter(ShardEntry& entry, ShardState state);
  void CheckDrains();
  void CheckForwarding();
  void CheckRetries();

  BookState& book_;
  ShardTimers drains_;   // by drain_until
  ShardTimers retries_;  // of loads, by retry_at
  ShardTimers lingers_;  // of forwarding, by forward_until
};

}  // namespace shardmanager::server
