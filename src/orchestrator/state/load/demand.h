// Where the requests of each shard come from: of apps whose spec has placement.follow_demand.
//
// Two pictures, so that noise does not move shards: `newest` follows every report; replicas stand
// by `settled`, which is renewed when for long others would have stood clearly nearer
// (demand_book.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "allocator/allocator.h"
#include "base/time.h"
#include "model/spec/demand.h"

namespace shardmanager::orchestrator {

using RegionWishes = absl::InlinedVector<allocator::RegionWish, 3>;

struct RegionRequests {
  uint32_t region = 0;  // its domain number
  float requests = 0;
};
using RequestCounts = absl::InlinedVector<RegionRequests, 3>;  // each region once, in no order

struct ShardDemand {
  RequestCounts newest;   // requests lately; older ones count for less
  TimePoint as_of{};      // of `newest`
  RequestCounts settled;  // that replicas stand by; empty: as they stood before this leader
  TimePoint known_at{};   // when it was last known well enough where requests come from
  TimePoint shifting_since = kNever;  // others would stand nearer since then
  RegionWishes wishes;                // the region of the primary first; empty: none
  uint32_t asked = 0;                 // the region that is ordered, or stands in the spec; 0: none
  bool asked_for_itself = false;      // and not for all shards of the app
};

// A region in which the app has servers.
struct DemandRegion {
  std::string name;
  uint32_t number = 0;
  bool usable = false;  // replicas may stand there
};

struct ClientDemand {
  DemandRules rules;
  std::vector<ShardDemand> shards;    // by ShardIndex; empty without such a policy
  std::vector<DemandRegion> regions;  // as of the last look
};

}  // namespace shardmanager::orchestrator
