// Snapshots for tests of the allocator.
#pragma once

#include "allocator/allocator.h"

namespace shardmanager::allocator {

// Servers spread over `regions` regions in turn, each its own rack and datacenter.
Snapshot Fleet(uint32_t servers, uint32_t regions);

void AddShards(Snapshot& snapshot, uint32_t count, uint32_t replicas = 1);

// Replicas stand where the plan wants them.
void Apply(Snapshot& snapshot, const Plan& plan);

}  // namespace shardmanager::allocator
