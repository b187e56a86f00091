// Who is in step with a shard's primary, and so can become the primary (decision 0013).
//
// A replica is a member once its server's life stands in its record (member_life). What the
// primary acknowledges, all members have (with `quorum`: most of them), because
//   * one that comes is written down as a member only after the primary has said that it
//     goes by it;
//   * one that goes is first written down as none, and then the primary is told;
//   * one at a time: the primary is told of the next one when the last one is written down.
// A server in a new life is no member: it may have lost what it knew. (With `quorum` it
// stays one until it is replaced: the application's log is its memory.)
#pragma once

#include <optional>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// Adds to `change` who is not a member any more, and who has become one.
void DecideMembers(const PartitionState& state, Change& change, ShardIndex id,
                   ReplicaIndex primary);
// The members as stored, and those of `told` that are about to be stored.
MemberList MembersOf(const PartitionState& state, ShardIndex id, const MemberList& told);
// The next secondary to bring into step: of those that may be tried now, the one that failed
// least; of equals, not the one that was tried last. Thus one that can never come into step, or of
// which nothing is ever heard, does not keep the others from it.
std::optional<Member> NextMember(const PartitionState& state, ShardIndex id,
                                 const ToldMembers& membership);
// It is written down as a member and is in step no more: its server is lost, or has begun anew.
// (With `quorum` it stays one until it is replaced.)
bool HasLeft(const PartitionState& state, const Replica& replica);
// It was in step in a former life of its server, or when that was lost: its storage may have
// everything. It has not said yet whether it serves, and may: it is waited for, or its server is,
// as long as a lost server is waited for.
bool IsAwaitedFormer(const PartitionState& state, const Replica& replica);
// Somebody stands in the record as in step in a life that is over. Until that is mended, the
// primary is told nothing that leaves it out: if it and the leader ended, nobody would know that
// the other one lacks what was acknowledged since.
bool RecordNamesFormerLife(const PartitionState& state, ShardIndex id);
// It is to be dropped, but the primary may still count on it.
bool StillMember(const PartitionState& state, const Replica& replica);
// May its record end, or say that it goes? With `quorum`, of what was acknowledged a member may
// have what few others have: so one goes at a time, most of them serve, and their primary goes
// by exactly those that are written down. Then of any two majorities, before and after, one
// member is in both.
bool MayLeave(const PartitionState& state, const Change& change, const Replica& replica);

}  // namespace shardmanager::orchestrator
