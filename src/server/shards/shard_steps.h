// What a shard is doing: from one state of shard_book.h's pictures to the next.
#pragma once

#include <set>
#include <utility>

#include "absl/status/status.h"
#include "base/time.h"
#include "server/shards/shard_events.h"
#include "server/shards/shard_state.h"

namespace shardmanager::server {

// Begins what the book asks for, and goes on when the application's methods return, the last
// request has ended, or time has passed: with `entry.next`, with the drop, or not at all. Each step
// is decided by what is wanted then.
class ShardSteps {
 public:
  explicit ShardSteps(BookState& book) : book_(book) {}

  // ---- for the book: what is wanted is in the entry ----

  // REQUIRES: nothing of the shard is at work.
  void Begin(ShardEntry& entry, const WantedGrant& given);
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
  // Of the old owner: from here on nothing is served, held or forwarded. Whatever goes on ends
  // with the drop all the same.
  void EndHandover(ShardEntry& entry);
  void Forward(ShardEntry& entry);
  // From here on it forwards for a while only.
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
  using Times = std::set<std::pair<TimePoint, ShardId>>;

  void Regrant(ShardEntry& entry, const WantedGrant& given);
  void Prepared(ShardEntry& entry, const absl::Status& status);
  void Loaded(ShardEntry& entry, const absl::Status& status);
  void RoleChanged(ShardEntry& entry, const absl::Status& status);
  void DropPrepared(ShardEntry& entry, const absl::Status& status);
  void Dropped(ShardEntry& entry, const absl::Status& status);
  void GrantFailed(ShardEntry& entry, const absl::Status& status);
  void EndDrain(ShardEntry& entry);
  bool CallOff(ShardEntry& entry);
  void RetryLater(ShardEntry& entry);
  void Enter(ShardEntry& entry, ShardState state);
  void CheckDrains();
  void CheckForwarding();
  void CheckRetries();

  BookState& book_;
  Times deadlines_;  // of drains, by drain_until
  Times retries_;    // loads to try again
  Times lingers_;    // of forwarding, by forward_until
};

}  // namespace shardmanager::server
