// Shards that are not moved for a while, or not to a certain server, as their last planned move
// could not be carried out.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "base/time.h"
#include "orchestrator/tables.h"

namespace shardmanager::orchestrator {

// A move that fails costs requests, or holds them up: the pause doubles with each failure, until
// a move of the shard succeeds. Failures because of a server and others are counted apart: where
// it could not be added says nothing about how long its requests take.
class MoveHolds {
 public:
  static constexpr Duration kFirst = Seconds(60);
  static constexpr int kMostDoublings = 5;  // 32 minutes

  // The shard's move has failed, because of the server `avoid` (invalid: wherever it might go).
  // How long it is not tried again.
  Duration Hold(ShardIndex shard, ServerIndex avoid, TimePoint now) {
    Entry& entry = entries_[shard];
    entry.avoid = avoid;
    uint8_t& failures = avoid.valid() ? entry.failures_there : entry.failures;
    const Duration pause = kFirst * (1 << std::min<int>(failures, kMostDoublings));
    if (failures < UINT8_MAX) ++failures;
    entry.until = now + pause;
    return pause;
  }
  void Forget(ShardIndex shard) {
    if (!entries_.empty()) entries_.erase(shard);
  }
  struct Entry {
    TimePoint until{};
    ServerIndex avoid;
    uint8_t failures = 0;        // in a row, wherever it might go
    uint8_t failures_there = 0;  // in a row, each because of some server
  };
  // Null: it may go anywhere.
  const Entry* Find(ShardIndex shard, TimePoint now) const {
    const auto found = entries_.find(shard);
    return found == entries_.end() || now >= found->second.until ? nullptr : &found->second;
  }

 private:
  absl::flat_hash_map<ShardIndex, Entry> entries_;
};

}  // namespace shardmanager::orchestrator
