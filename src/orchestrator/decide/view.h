// What the tables say of one replica, one shard or one server.
#pragma once

#include <algorithm>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// As far as the records and its own answers say. (What prepares processes what is forwarded.)
bool MayProcess(const Replica& replica);
// Why a replica would leave the server; why its primaries would pass their role on.
Cause CauseOfMove(const PartitionState& state, ServerIndex from);
Cause CauseOfSwitchover(const PartitionState& state, ServerIndex from);
// The operation that a move of the shard, or a planned change of its primary, is part of, as
// ControlEvent has it; "": neither is planned or under way, or nobody asked for it.
std::string OperationOf(const PartitionState& state, ShardIndex id);
// Which server a secondary of the shard is being moved away from; invalid: none is.
ServerIndex SourceOfMove(const PartitionState& state, ShardIndex id);
// The one that has the right to serve and does; invalid: there is none now.
ReplicaIndex PrimaryOf(const PartitionState& state, ShardIndex id);
// It has the right to serve, and its server has said that it does.
bool Serves(const PartitionState& state, const Replica& replica);
// What the replica's durable state asks of its server.
std::optional<CommandKind> Demand(const Replica& replica);
// Its session has ended, and no write has found that it is back.
bool IsGone(const Server& server);
bool IsGivenUp(const Server& server);
// For how long a lost server is waited for.
inline Duration FailoverDelay(const PartitionState& state) {
  return Milliseconds(state.spec.failover().delay_ms());
}
// For how long it is waited for if it alone may have writes that a shard has acknowledged.
inline Duration LastResortDelay(const PartitionState& state) {
  const MassFailure& mass = state.mass_failure;
  return mass.on ? std::max(FailoverDelay(state), mass.rules.patience) : FailoverDelay(state);
}
// From when on the shards of a lost server do without what it alone may have: failover.delay_ms
// (in a mass failure failover.mass_failure.patience_ms) after it went, whether it said good-bye or
// not.
TimePoint LastResortAt(const PartitionState& state, const Server& server);
bool IsLastResort(const PartitionState& state, const Server& server);
// In step: it knows all that was acknowledged, in this life of its server. (Where a
// majority decides what is acknowledged, the application's own log outlives its process.) In step
// with nobody is not in step: a server that was lost before this leader came has no known life.
bool IsCurrent(const PartitionState& state, const Replica& replica);
// Serves, and has all that the primary has acknowledged.
bool InStep(const PartitionState& state, const Replica& replica);
// Clients are sent to it: it serves and, where shards have a primary and secondaries, is in step.
bool ServesClients(const PartitionState& state, const Replica& replica);
// Most of the shard's members serve; with no members, too.
bool HasMajority(const PartitionState& state, ShardIndex id);
// Its primary changed just now: clients are given a moment to know of it before it moves again.
bool MovedJustNow(const PartitionState& state, ShardIndex id);
// Percent loaded, of a replica that is loading; -1: unknown.
int ProgressOf(const PartitionState& state, ShardIndex shard, ServerIndex server);
// Nothing is given to the server, taken from it, or asked of it: see unread.h.
bool TakesNothing(const Server& server);

// First placements wait for the fleet to gather; what was lost is never made to wait.
inline bool WaitsForFleet(const PartitionState& state, const Shard& shard, TimePoint now) {
  return !shard.first.valid() && now < state.gather_until;
}

}  // namespace shardmanager::orchestrator
