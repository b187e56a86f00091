// Servers whose assignment record cannot be read (decision 0010). What such a record
// grants is unknown, so:
//   * it is never written: Touch() ends the process first;
//   * the server gets nothing, loses nothing and is commanded nothing;
//   * a primary shard that nobody else had the right to serve when the records were read
//     may be there: nothing is decided about it. Nobody but we write records, so what is
//     in the one that cannot be read does not change meanwhile.
// It ends when the record can be read, or is released (release.h): the state is then read
// back from the start. Secondaries are not held back: one copy too many harms nobody.
//
// But the record may say that a secondary is in step with its primary, and what it says counts
// again once it can be read. So primaries go on counting on each secondary that the server reports
// in its present life, and no primary is told of members before every such server has reported.
#pragma once

#include <optional>

#include "orchestrator/state/partition_state.h"
#include "orchestrator/state/wait.h"

namespace shardmanager::orchestrator {

// Nothing is decided about the shard: it may be on a server whose record cannot be read, or be in
// step there with its primary.
bool HeldBack(const PartitionState& state, ShardIndex shard);
// kAssignmentUnread or kMembersUnread; nothing: it is not held back.
std::optional<WaitReason> WhyHeldBack(const PartitionState& state, ShardIndex shard);
// Servers whose record cannot be read have not said yet what they hold as secondaries.
bool AwaitsUnreadMembers(const PartitionState& state);

}  // namespace shardmanager::orchestrator
