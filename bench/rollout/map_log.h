// What a subscriber's map says of a rolling upgrade: how often primaries moved, and how many
// replicas of one shard were away.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/local_cluster/map_watcher.h"

namespace shardmanager {

class MapLog {
 public:
  // `map` outlives this. `replicas`: that each shard is to have.
  MapLog(const local::MapWatcher& map, size_t replicas) : map_(map), wanted_(replicas) {}

  // Looks at the map. `stopped`: the server was told to stop, and its next process does not run
  // yet; its replicas count as away whatever the map says.
  void Look(const std::function<bool(const std::string& server)>& stopped);

  // Counts afresh.
  void Reset();
  // Since Reset(), how often a shard's first server (its only one, with primaries only) was another
  // one than before.
  uint64_t moves() const { return moves_; }
  // Since Reset(): the most replicas of one shard that were away at any time, and a shard with so
  // many.
  size_t most_away() const { return most_away_; }
  const std::string& shard_most_away() const { return shard_most_away_; }

  // All replicas that the map names now, and whether each shard has as many as it is to have.
  size_t replicas() const { return replicas_; }
  bool complete() const { return replicas_ > 0 && replicas_ == wanted_ * view_.shards.size(); }

 private:
  void CountMoves();
  void CountAway(const std::function<bool(const std::string& server)>& stopped);

  const local::MapWatcher& map_;
  const size_t wanted_;
  local::MapView view_;
  std::vector<std::string> last_;  // each shard's first server; empty: none so far
  uint64_t moves_ = 0;
  size_t most_away_ = 0;
  std::string shard_most_away_;
  size_t replicas_ = 0;
};

}  // namespace shardmanager
