// From a partition's state to the shard maps that clients see.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::orchestrator {

// Keeps the version and what subscribers already know of servers. Not thread-safe.
class MapBuilder {
 public:
  // `sequence`: of the last map that this leader published for the app. `cell`: as
  // CellIdentity() has it. `cell_made_ms`: CellConfig.made_ms.
  MapBuilder(LeaderEpoch leader_epoch, uint64_t sequence, std::string cell, int64_t cell_made_ms)
      : leader_epoch_(leader_epoch),
        sequence_(sequence),
        cell_(std::move(cell)),
        cell_made_ms_(cell_made_ms) {}

  v1::MapSnapshot Whole(const PartitionState& state);
  // REQUIRES: Whole() was called before.
  v1::MapDelta Delta(const PartitionState& state, const std::vector<ShardIndex>& shards);

  v1::MapVersion version() const;

 private:
  // The shard's replicas; servers that subscribers do not know yet go to `servers`.
  void Fill(const PartitionState& state, ShardIndex shard, v1::MapShard* entry,
            google::protobuf::RepeatedPtrField<v1::MapServer>* servers);

  const LeaderEpoch leader_epoch_;
  uint64_t sequence_;
  const std::string cell_;
  const int64_t cell_made_ms_;
  absl::flat_hash_map<ServerIndex, std::string> known_;  // server -> endpoint
};

}  // namespace shardmanager::orchestrator
