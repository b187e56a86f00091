// When shards are due for something, drains whose time is over for example.
#pragma once

#include <set>
#include <utility>

#include "base/time.h"
#include "shardmanager/types.h"

namespace shardmanager::server {

// Each shard has its moment in its ShardEntry, which is passed as `own`; kNever: it has none.
class ShardTimers {
 public:
  // Replaces the moment of the shard.
  void Set(const ShardId& shard, TimePoint when, TimePoint& own) {
    Clear(shard, own);
    own = when;
    moments_.insert({when, shard});
  }
  void Clear(const ShardId& shard, TimePoint& own) {
    moments_.erase({own, shard});
    own = kNever;
  }
  // The earliest; kNever: there is none.
  TimePoint next() const { return moments_.empty() ? kNever : moments_.begin()->first; }
  // REQUIRES: next() is not kNever.
  const ShardId& shard() const { return moments_.begin()->second; }

 private:
  std::set<std::pair<TimePoint, ShardId>> moments_;
};

}  // namespace shardmanager::server
