// The recent past of one shard map: what brings a subscriber up to date that is
// not far behind.
#pragma once

#include <deque>
#include <optional>

#include "discovery/map_encoding.h"
#include "model/map_version.h"

namespace shardmanager::discovery {

struct DeltaLogLimits {
  size_t changes = 1'024;
  size_t bytes = 4u << 20;
};

// The newest changes, without a gap. Forgets the oldest past its limits.
class DeltaLog {
 public:
  explicit DeltaLog(DeltaLogLimits limits = {}) : limits_(limits) {}

  // REQUIRES: change.from is the last change's `to`, if there is any.
  void Append(Change change);
  void Clear();

  // All changes since `from` as one (a later entry of an index replaces an earlier
  // one). Nothing when the log does not begin or pass there.
  std::optional<Change> Since(MapVersion from) const;
  // Would Since(from) return something?
  bool Reaches(MapVersion from) const;

  size_t size() const { return changes_.size(); }

 private:
  // Where `from` begins; end() if nowhere.
  std::deque<Change>::const_iterator Find(MapVersion from) const;

  DeltaLogLimits limits_;
  std::deque<Change> changes_;
  size_t bytes_ = 0;
};

}  // namespace shardmanager::discovery
