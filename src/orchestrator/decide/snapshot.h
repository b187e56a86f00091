// What the allocator is asked with: the fleet, and the shards that it is to place or to move.
#pragma once

#include "allocator/allocator.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

enum class Purpose : uint8_t { kEmergency, kBalance, kExplain };

// Cheap look before the state is copied for the allocator. Where replicas stand to each
// other, or to a region, only the allocator can tell: it is asked until it finds
// nothing to improve, and again once something changed.
bool WorthBalancing(const PartitionState& state);
// Some server is beyond its limits in the picture that plans are made of (without metrics: has more
// than its share): perhaps as a shard could not go back to where it came from.
bool IsUneven(const PartitionState& state);
// The fleet, and no shards: all replicas count as "other" ones.
allocator::Snapshot FleetSnapshot(const PartitionState& state, const LoadTable& loads);
// The first of the container operations for which moves that only balance wait; null: they wait for
// none. (One that takes failover.delay_ms longer than it was to take, or whose server is gone for
// good, may never be reported as finished.)
const ServerOrder* OrderThatHoldsBalance(const PartitionState& state);
// Servers that are to be stopped later on get nothing, if the others have room up to a fair share:
// what goes there would have to leave again.
void BarAvoided(const PartitionState& state, allocator::Snapshot& snapshot);
// For balance: servers that come and go are given nothing, as long as others stay.
void BarUnsteady(const PartitionState& state, allocator::Snapshot& snapshot);
// A server that is being given as many as it may, for failovers, is not chosen for more: the
// others have room.
void BarFull(const PartitionState& state, allocator::Snapshot& snapshot);
void AddToSnapshot(const PartitionState& state, ShardIndex id, Purpose purpose,
                   const LoadTable& loads, allocator::Snapshot& snapshot);
// The fleet, and of the shards only this one: for allocator::Explain.
allocator::Snapshot ExplainSnapshot(const PartitionState& state, ShardIndex shard);

}  // namespace shardmanager::orchestrator
