#include "orchestrator/decide/unread.h"

#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
bool HeldBack(const PartitionState& state, ShardIndex shard) {
  if (state.unread.servers.empty()) return false;
  if (AwaitsUnreadMembers(state)) return true;
  if (state.replication.primaries && !state.tables.shard(shard).right_seen) return true;
  bool adopted = false;
  state.tables.ForEach(shard, [&](ReplicaIndex, const Replica& replica) {
    adopted |= state.tables.server(replica.server).record_unread;
  });
  return adopted;
}

std::optional<WaitReason> WhyHeldBack(const PartitionState& state, ShardIndex shard) {
  if (!HeldBack(state, shard)) return std::nullopt;
  const bool owner_known = state.replication.primaries && state.tables.shard(shard).right_seen;
  return owner_known && AwaitsUnreadMembers(state) ? WaitReason::kMembersUnread
                                                   : WaitReason::kAssignmentUnread;
}

bool AwaitsUnreadMembers(const PartitionState& state) {
  return state.replication.both_roles() && state.unread.members.awaits_reports();
}

}  // namespace shardmanager::orchestrator
