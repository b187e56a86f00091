// Which replica of a shard gets a request.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "router/shard_map.h"

namespace shardmanager::router {

struct ReplicaPreference {
  // Where the client stands. Empty parts: nobody is near by them.
  const FaultDomain* location = nullptr;
  // The server that just failed us: only when there is no other. Empty: none did.
  std::string_view avoid;
  // A secondary will do, also where there is a primary.
  bool any_replica = false;
  // Servers in trouble get nothing but a probe now and then, as long as others serve.
  bool leave_out_outliers = true;
  // Any number: spreads requests evenly.
  uint64_t random = 0;
  // For probes.
  TimePoint now{};
};

struct ReplicaChoice {
  const MappedReplica* replica = nullptr;  // null: nobody serves the shard
  bool left_out = false;                   // a server was passed over as it is in trouble
};

// The primary, if there is one and `any_replica` is not set. Else any replica will do:
//  1. Who is in trouble is left out (ServerHealth), unless all are.
//  2. The nearest of the others: in the client's rack, datacenter, region, anywhere. Farther ones
//     come before near ones only if these take more than three times as long: overload, say.
//  3. Of equally near ones: not who takes 1.5 times as long as the best. Of the rest, two are
//  drawn,
//     and the one with fewer of our requests under way gets it.
//  4. One request in 64 may go to a replica that these rules pass over, to see how it does now; at
//     most one a second to each server.
// No lock, no allocation.
ReplicaChoice ChooseReplica(const ShardMap& map, ShardIndex shard,
                            const ReplicaPreference& preference);

}  // namespace shardmanager::router
