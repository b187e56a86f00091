#include "orchestrator/core/unread_records.h"

#include "orchestrator/decide/unread.h"

namespace shardmanager::orchestrator {

void UnreadRecords::NoteRights() {
  if (state_.unread.servers.empty()) return;
  for (uint32_t i = 0; i < state_.tables.shard_count(); ++i) {
    uint32_t seen = 0;  // a bit for each phase
    state_.tables.ForEach(ShardIndex(i), [&](ReplicaIndex, const Replica& replica) {
      if (replica.role == Role::kPrimary) seen |= 1U << static_cast<uint32_t>(replica.phase);
    });
    const auto has = [seen](Phase phase) {
      return (seen >> static_cast<uint32_t>(phase) & 1) != 0;
    };
    state_.tables.shard(ShardIndex(i)).right_seen =
        has(Phase::kGranted) || (has(Phase::kDropping) && has(Phase::kReserved)) ||
        (has(Phase::kForwarding) && has(Phase::kPreparing));
  }
}

void UnreadRecords::AdoptReported(const ServerReport& report) {
  UnreadMembers::Shards secondaries;
  for (const HeldReplica& held : report.held) {
    if (!held.serving) continue;
    const ShardIndex shard = state_.tables.InternShard(held.shard);
    if (held.role == Role::kSecondary) {
      secondaries.insert(shard);  // also if the spec does not name the shard now: it may again
      continue;
    }
    if (state_.tables.shard(shard).map_index == Shard::kNotInMap || !HeldBack(state_, shard)) {
      continue;
    }
    if (state_.tables.FindReplica(shard, report.server).valid()) continue;
    Replica& replica = state_.tables.replica(
        state_.tables.AddReplica(shard, report.server, Role::kPrimary, held.epoch));
    replica.phase = Phase::kGranted;
    replica.settled = true;
  }
  SetUnreadMembers({report.server, report.incarnation}, secondaries);
}

void UnreadRecords::SetUnreadMembers(const Member& server, const UnreadMembers::Shards& shards) {
  const bool awaited = AwaitsUnreadMembers(state_);
  for (ShardIndex shard : state_.unread.members.Report(server, shards)) agenda_.MarkDirty(shard);
  if (awaited && !AwaitsUnreadMembers(state_)) agenda_.MarkAllDirty();
}

}  // namespace shardmanager::orchestrator
