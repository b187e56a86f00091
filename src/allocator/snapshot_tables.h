// A snapshot's rows as those of a placement problem, and which of the snapshot's shards
// and replicas each one is.
#pragma once

#include <vector>

#include "allocator/allocator.h"

namespace shardmanager::allocator {

class SnapshotTables {
 public:
  // REQUIRES: the snapshot outlives it.
  SnapshotTables(const Snapshot& snapshot, const Options& options);

  const PlacementInput& input() const { return input_; }
  const ShardInfo& shard_of(uint32_t replica) const;
  Role role_of(uint32_t replica) const { return roles_[replica]; }
  // Invalid: nowhere.
  ServerIndex server(solver::ContainerId c) const {
    return c.valid() ? snapshot_.servers[c.index()].server : ServerIndex();
  }
  // REQUIRES: the snapshot lists the server; they are in ascending order.
  uint32_t PositionOf(ServerIndex server) const;

 private:
  void AddMetrics();
  void LoosenCount();
  void AddServer(size_t position);
  void AddShard(const ShardInfo& shard);
  void AddReplica(uint32_t server, Role role, bool movable);

  const Snapshot& snapshot_;
  PlacementInput input_;
  std::vector<Role> roles_;
  size_t load_row_ = 0;  // in snapshot_.load: the next one
};

}  // namespace shardmanager::allocator
