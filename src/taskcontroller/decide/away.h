// What is away now, planned or not, and how much more may go.
#pragma once

#include <cstdint>
#include <vector>

#include "taskcontroller/state/fleet_view.h"
#include "taskcontroller/state/operation.h"
#include "taskcontroller/state/policy.h"

namespace shardmanager::taskcontroller {

// A server is away if an operation has begun there (or was forced), if it is not live and replicas
// are still assigned to it, or if it is in trouble. A replica is away if its server is, or if it is
// not healthy.
class Away {
 public:
  Away(const Policy& policy, const FleetView& view, const HeldOperations& held);

  bool server(ServerIndex id) const { return servers_[id.index()]; }
  // How many are away, and how many may be.
  uint32_t count() const { return count_; }
  uint32_t limit() const { return limit_; }
  uint32_t left() const { return limit_ > count_ ? limit_ - count_ : 0; }
  // Of a shard: the replicas that are there, at most as many as wanted; and that have to be.
  uint32_t healthy(ShardIndex shard) const { return healthy_[shard.index()]; }
  uint32_t least(ShardIndex shard) const;
  // Its replicas on servers where an operation has begun: they will be back.
  uint32_t coming_back(ShardIndex shard) const { return coming_back_[shard.index()]; }
  // By shard: how many more of its replicas may go.
  std::vector<uint32_t> Room() const;

 private:
  void CountReplicas(ServerIndex id);

  const Policy& policy_;
  const FleetView& view_;
  std::vector<bool> servers_;
  std::vector<uint16_t> healthy_;
  std::vector<uint16_t> coming_back_;
  uint32_t count_ = 0;
  uint32_t limit_ = 0;
};

}  // namespace shardmanager::taskcontroller
