// Roles change before replicas move (decision 0035). A primary most often carries more than a
// secondary of its shard. Where servers are beyond their limits, some other replica in step may
// take the role over: no data moves. What each of the two carries then is what the other one
// carries now.
#pragma once

#include <cstddef>
#include <vector>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

struct PrimaryChange {
  ShardIndex shard;
  ReplicaIndex primary;
  ReplicaIndex next;
};

// The shard's primary, if it may be changed for balance now; else invalid.
ReplicaIndex ChangeablePrimary(const PartitionState& state, ShardIndex id);
// The secondary may take its role over, for balance: it is in step, its server is to keep
// primaries, and it is not farther from where the shard is wanted.
bool MayTakeOver(const PartitionState& state, const Replica& primary, const Replica& secondary);

// What servers carry in the picture that plans are made of, if all changes of primaries that are
// decided were done, and some more.
class RoleLoads {
 public:
  explicit RoleLoads(const PartitionState& state);
  void Apply(const PrimaryChange& change);
  // A server would be beyond its limits then, or farther than it is.
  bool Overloads(const PrimaryChange& change) const;
  // How far the server is beyond its limits: the sum of its parts of them, over the metrics.
  double Excess(ServerIndex server) const { return ExcessWith(server, {}, 0); }
  // Likewise both servers of the change together, when it is done.
  double ExcessAfter(const PrimaryChange& change) const;
  // What goes from one server to the other: the sum of its parts of the first one's limits.
  double Size(const PrimaryChange& change) const;

 private:
  std::vector<double> Difference(const PrimaryChange& change) const;
  double ExcessWith(ServerIndex server, const std::vector<double>& more, double sign) const;
  ServerIndex ServerOf(ReplicaIndex replica) const { return state_.tables.replica(replica).server; }

  const PartitionState& state_;
  const size_t metrics_;
  std::vector<double> used_;   // [server][metric]
  std::vector<double> limit_;  // likewise; 0: none
};

// At most `most` changes that bring servers which are beyond their limits nearer to them, and take
// no other one beyond its own. Every one of them lowers the sum of what is too much: they come to
// an end.
std::vector<PrimaryChange> ChangesForLoad(const PartitionState& state, size_t most);

}  // namespace shardmanager::orchestrator
