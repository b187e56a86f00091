// Since when each shard of an app has been unserved, as far as somebody looked.
#pragma once

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/time.h"
#include "orchestrator/describe/health.h"

namespace shardmanager::orchestrator {

// Not stored: another leader begins to count anew.
class UnservedSince {
 public:
  // Looks at all shards.
  Health Look(const PartitionState& state, TimePoint now) {
    Health health = HealthOf(state);
    absl::flat_hash_map<ShardIndex, TimePoint> since;
    TimePoint first = now;
    for (const ShardIndex shard : health.unserved) {
      const auto known = since_.find(shard);
      const TimePoint at = known == since_.end() ? now : known->second;
      since.emplace(shard, at);
      first = std::min(first, at);
    }
    since_ = std::move(since);
    health.counts.set_longest_unserved_ms((now - first) / Milliseconds(1));
    return health;
  }

 private:
  absl::flat_hash_map<ShardIndex, TimePoint> since_;
};

}  // namespace shardmanager::orchestrator
