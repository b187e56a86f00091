// Where a shard's replicas should stand for its requests.
//
// Regions get replicas in proportion to their requests, by the method of Sainte-Lague
// (en.wikipedia.org/wiki/Sainte-Lague_method): one more replica takes none from any region.
#pragma once

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "orchestrator/state/load/demand.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

struct RegionShare {
  uint32_t region = 0;
  double share = 0;  // 0 to 1, all of them together 1
};
// Descending.
using RegionShares = absl::InlinedVector<RegionShare, 3>;

// So much of a count is left after `passed`: half of it after half the time of the policy.
double LeftOfDemand(const DemandRules& rules, Duration passed);
// Of regions where replicas may stand. Empty: no requests came from any.
RegionShares SharesOf(const ClientDemand& demand, const RequestCounts& counts);
// Of those: how many are counted as of now.
double CountedRequests(const ClientDemand& demand, const ShardDemand& shard, TimePoint now);
// So many have to be counted before anything follows from them: by then chance changes the share
// of a region by less than what is worth a move.
double RequestsNeeded(uint32_t replicas);

// Where the shard's replicas should stand; the region of its primary first. What is left over by
// the regions' limits may stand anywhere.
RegionWishes PlaceByDemand(const PartitionState& state, ShardIndex id, const RegionShares& shares);
// Replicas that stand as `better` says would be clearly nearer to the requests.
bool IsWorthAMove(const PartitionState& state, ShardIndex id, const RegionShares& shares,
                  const RegionWishes& better);
// Where its replicas stand.
RegionWishes AsItStands(const PartitionState& state, ShardIndex id);

// The region of the shard's primary (or of one replica) is the one that its requests ask for, not
// one that is ordered or stands in the spec for this shard.
bool IsPlacedByDemand(const ShardDemand& shard);
// What is wished for the shard: by its requests, else by placement.region_replicas.
RegionWishes WishesOf(const PartitionState& state, ShardIndex id);

}  // namespace shardmanager::orchestrator
