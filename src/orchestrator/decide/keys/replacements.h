// When shards are replaced: split into several, or merged into one (decision 0045).
//
// They are replaced by one write, in which each server that held the old shards gets the new ones
// in the same role. No right to serve a key goes to another server, so nobody has to confirm
// anything first: the server lets the old shards go before it begins with the new ones (made_of in
// shard_server.proto).
//
// Where shards have a primary and secondaries, the primaries stop first, as for a change of primary
// (Phase::kDemoting): what they have acknowledged, all members have then, and nobody acknowledges
// more. So it does not matter which server hears first of the new shards, and their members are
// those of the old ones.
#pragma once

#include <optional>
#include <string>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// The replacement in which the shard is to go; null: it stays.
const Replacement* ReplacementOf(const PartitionState& state, ShardIndex id);
// The replacement that made the shard; null: none, or that is forgotten.
const Replacement* OriginOf(const PartitionState& state, ShardIndex id);

// Why they are not replaced now, for people; nothing: they can be. Example: "users-4 is on kv-2,
// and users-3 is not".
std::optional<std::string> WhyNotReplaced(const PartitionState& state, const Replacement& r);

// Why those that are to be merged cannot be yet: they are not all on the same servers. Nothing:
// they are.
std::optional<std::string> WhyApart(const PartitionState& state, const Replacement& r);

// The primary of this shard is to stop, or stay stopped, as the shard is about to be replaced, and
// nothing but primaries that stop is waited for.
bool StopsToBeReplaced(const PartitionState& state, ShardIndex id);

// The server has the first of those that are to be merged with this shard, which may go there for
// that although it stays where it is otherwise.
bool MayJoinAt(const PartitionState& state, ShardIndex id, ServerIndex server);

// Replaces this shard, the first one of a replacement, and all that go with it.
void DecideReplacement(const PartitionState& state, Change& change, ShardIndex id);

// Ends the process if the change takes a right from a server for a replacement, and does not give
// it what takes that shard's place.
void CheckHandedOn(const PartitionState& state, const Change& change);

}  // namespace shardmanager::orchestrator
