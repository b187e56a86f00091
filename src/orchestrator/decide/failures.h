// Shards that servers cannot add. One that fails is tried again by the same server, with
// back-off; after a few times (at once, if the server is sick: quarantine.h) it is given to
// another one, first of all back to the one that had it before the move. One that fails on
// several servers in a row is a poison shard: it would only break one server after the other, so
// it stays where it is, is tried again there, and is told of. At growing intervals it goes on to
// other servers all the same: its last server may be the one that is broken.
#pragma once

#include <vector>

#include "orchestrator/decide/census.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// On so many servers in a row a shard fails before the last of them keeps it.
inline constexpr size_t kMostServers = MoveHolds::kMostServers;

// Adds to `change` the end of a grant that is over for its server.
void DecideOvertaken(const PartitionState& state, Change& change, ShardIndex id);
// Adds to `change` the end of a replica whose server cannot add it, if another one may, or has
// the shard already and one too many was asked for: a move. (Who is to be the primary where
// there are secondaries: roles.h.)
void DecideElsewhere(const PartitionState& state, Change& change, ShardIndex id);
// Servers that could not add it, and had to give it up, since it was served last.
Servers FailedAt(const PartitionState& state, ShardIndex id);
// Of a move, also the one to which its last move failed, those that its primary could not bring
// into step, and the one that was its primary until just now: clients ask that one yet, and it
// sends on what they ask until it has the shard again. (A missing replica is better on one of these
// than nowhere: a move that fails costs requests, a placement that fails costs nothing.)
Servers Avoided(const PartitionState& state, ShardIndex id, bool of_move);
// Where the shard is not moved for now, because of the server that has its primary.
std::vector<MoveHolds::HeldPair> HeldPairs(const PartitionState& state, ShardIndex id,
                                           TimePoint now);
// On how many in a row it has failed, with the one where it is.
size_t ServersThatFailed(const PartitionState& state, const Replica& replica);
// So many others failed before that its server is to keep it.
bool IsLastServer(const PartitionState& state, const Replica& replica);
// No server is left where it has not failed, and one is where it did: that one may be well by now.
bool HasFailedWhereverItCouldBe(const PartitionState& state, const Replica& replica);
// Where else the shard could be: where it came from, or on a server where it has not failed yet.
// (A plan chooses none of those where it has: snapshot.h.)
bool HasOtherPlace(const PartitionState& state, const Replica& replica);
// Where no plan would put the primary: on a server that is to be emptied. Better there than
// nowhere, also if it came from there and a former leader took that knowledge along. Invalid: there
// is none, or another server may have it.
ServerIndex LastResort(const PartitionState& state, const Replica& replica);
// It has failed to add the shard, or could not be reached, for as long as a lost server is waited
// for that alone may have what was acknowledged.
bool IsInTroubleForLong(const PartitionState& state, const Replica& replica);
// Its server has seen that this grant is over, as after a command that came late: nothing is
// served under it any more. The shard needs a new one.
bool IsOvertaken(const PartitionState& state, const Replica& replica);
// No move of the shard is on hold; none to this server.
bool MayMove(const PartitionState& state, ShardIndex id);
bool MayMoveTo(const PartitionState& state, ShardIndex id, ServerIndex server);
// Not more than half of those that live failed to add what they tried last.
bool MostServersAreWell(const PartitionState& state);
// It gets nothing now: its record is larger than the store takes; or it is sick,
// and waits for its trial, or the replica that it is tried with does not serve yet.
bool IsBarred(const PartitionState& state, ServerIndex id);
// Adds to `change` the way back, once nobody has the shard any more.
void DecideReturn(const PartitionState& state, Change& change, ShardIndex id, Census& census);

}  // namespace shardmanager::orchestrator
