// Grants that are over for their servers: a server, or its storage, has seen a newer one.
#pragma once

#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/time.h"
#include "orchestrator/state/move_holds.h"
#include "orchestrator/state/tables.h"

namespace shardmanager::orchestrator {

inline constexpr char kEpochsBehind[] =
    "this cell's epochs are lower than epochs that were seen before, so servers, their storage or "
    "clients refuse what they are told: was its ZooKeeper restored from a backup? Stop "
    "shardmanagerd everywhere, and run shardctl cell raise-epochs";

// A grant that was overtaken, as by a command that came late, is replaced by a newer one at once.
// If that one is overtaken, too, this cell's epochs lie behind what was seen, as in one that was
// restored from a backup: the next try waits a minute, then longer each time.
class OvertakenGrants {
 public:
  bool MayGrantAnew(ShardIndex shard, TimePoint now) const {
    return holds_.HeldUntil(shard, now) <= now;
  }
  void GrantedAnew(ShardIndex shard, TimePoint now) { holds_.Hold(shard, now); }
  // The shard's grant is overtaken. True: its newest grant is so, too, and of no other shard was
  // that known.
  bool NoteOvertaken(ShardIndex shard, TimePoint now) {
    if (MayGrantAnew(shard, now)) return false;
    return behind_.insert(shard).second && behind_.size() == 1;
  }
  void Served(ShardIndex shard) {
    holds_.Forget(shard);
    if (!behind_.empty()) behind_.erase(shard);
  }
  // A server has obeyed a leader with a higher epoch, or a client has its map. (One that is deposed
  // has stopped by then: its lease ends before another one is elected.) True: that was not known.
  bool NoteLeaderBehind() { return !std::exchange(leader_is_behind_, true); }
  bool leader_is_behind() const { return leader_is_behind_; }
  bool Contains(ShardIndex shard) const { return behind_.contains(shard); }
  // Shards whose newest grant is overtaken.
  size_t size() const { return behind_.size(); }

 private:
  bool leader_is_behind_ = false;
  MoveHolds holds_;
  absl::flat_hash_set<ShardIndex> behind_;
};

}  // namespace shardmanager::orchestrator
