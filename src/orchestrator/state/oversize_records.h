// Servers whose assignment record the store refused, as it is larger than one write may be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "base/dense_id.h"
#include "base/time.h"
#include "shardmanager/types.h"

namespace shardmanager::orchestrator {

// The same write would be refused again: the pause before the next one doubles with each refusal.
class OversizeRecords {
 public:
  static constexpr Duration kFirst = Seconds(1);
  static constexpr Duration kMost = Seconds(60);

  // True: it is the first refusal since the record was last written.
  bool Refused(ServerIndex server, TimePoint now) {
    Entry& entry = entries_[server];
    entry.until =
        now + std::min<Duration>(kFirst * (1 << std::min<int>(entry.refusals, 10)), kMost);
    if (entry.refusals < UINT8_MAX) ++entry.refusals;
    return entry.refusals == 1;
  }
  void Written(ServerIndex server) {
    if (!entries_.empty()) entries_.erase(server);
  }
  // It was refused, and has not been written since.
  bool Contains(ServerIndex server) const { return entries_.contains(server); }
  bool Waits(ServerIndex server, TimePoint now) const {
    return Contains(server) && now < RetryAt(server);
  }
  // REQUIRES: Contains(server).
  TimePoint RetryAt(ServerIndex server) const { return entries_.find(server)->second.until; }

 private:
  struct Entry {
    TimePoint until{};
    uint8_t refusals = 0;
  };
  absl::flat_hash_map<ServerIndex, Entry> entries_;
};

}  // namespace shardmanager::orchestrator
