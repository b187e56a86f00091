// Who is the primary, in apps that have primaries and secondaries (decision 0013).
//
//   the primary is lost            a secondary in step with it is promoted in the same write
//                                  that makes the lost one a secondary: no data move
//   another is to be the primary   granted -> demoting: it lets its requests finish, holds
//                                  what comes, and stops; then, in one write, it is granted
//                                  as a secondary and the other one as the primary, to whom
//                                  it sends on what is meant for the primary
//
// Nobody else is told to be the primary before the old one has said that it is not (or its
// session is over), so the order of the two is all there is to get right. Whoever is lost on
// the way: the next look elects from those that are in step, the old primary included.
#pragma once

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// Adds to `change` what brings the roles of the shard one step on.
void DecideRoles(const PartitionState& state, Change& change, ShardIndex id);
// Another one is to be the primary, as soon as there is room among such changes.
void DecideSwitchover(const PartitionState& state, Change& change, ShardIndex id,
                      ReplicaIndex primary);
// Who is to be the primary next; invalid: nobody can be. Not one whose server is being
// drained, near the clients if they have a preferred region, where there are few primaries.
ReplicaIndex BestSecondary(const PartitionState& state, ShardIndex id, bool in_step);
bool WantsOtherPrimary(const PartitionState& state, ShardIndex id, const Replica& primary);

}  // namespace shardmanager::orchestrator
