// Commands that were in vain are sent again, with growing pauses: one timer for a shard that a
// server could not add or drop, one for all commands to a server that could not be reached.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {
namespace {

constexpr Duration kBackoffBase = Milliseconds(100);
constexpr int kBackoffMaxShift = 8;  // 25.6 s
constexpr Duration kMaxServerBackoff = Seconds(5);

}  // namespace

Duration Partition::Backoff(uint32_t failures) {
  return kBackoffBase * (1 << std::min<int>(static_cast<int>(failures) - 1, kBackoffMaxShift));
}

void Partition::CommandFailed(ReplicaIndex id, const CommandResult& event) {
  Replica& replica = tables_.replica(id);
  replica.contact = Contact::kRetry;
  const auto [known, fresh] = errors_.try_emplace(Key(event.shard, event.server));
  Trouble& trouble = known->second;
  if (fresh) trouble.since = now_;
  trouble.error = event.error;
  trouble.outcome = event.outcome;
  trouble.serving_epoch = event.serving_epoch;
  if (event.outcome == CommandOutcome::kDeposed && overtaken_.NoteLeaderBehind()) {
    AddNote(NoteKind::kEpochsBehind, event.server, ShardIndex(),
            absl::StrCat(kEpochsBehind, ": ", event.error));
  }
  if (IsUnreachable(event.outcome)) {
    replica.failures = 0;  // the server's timer brings it back, not its own
    ServerUnreachable(event.server);
    trouble.retry_at = retry_at_[event.server];
    return;
  }
  if (replica.failures < UINT8_MAX) ++replica.failures;
  trouble.retry_at = now_ + Backoff(replica.failures);
  AddNote(NoteKind::kCommandFailed, event.server, event.shard, event.error);
  SetTimer(Backoff(replica.failures), TimerKind::kShardRetry, event.shard.index());
  const bool comes = replica.phase == Phase::kGranted || replica.phase == Phase::kPreparing;
  if (comes && event.outcome == CommandOutcome::kFailed) NoteAddFailed(replica, event.error);
  if (IsOvertaken(replica) && overtaken_.NoteOvertaken(event.shard, now_)) {
    AddNote(NoteKind::kEpochsBehind, event.server, event.shard,
            absl::StrCat(kEpochsBehind, ": ", event.error));
  }
  NotePoison(id);
  MarkDirty(event.shard);  // a handover may be called off, or the shard goes elsewhere
}

void Partition::On(LaterLeaderSeen& event) {
  if (!overtaken_.NoteLeaderBehind()) return;
  AddNote(NoteKind::kEpochsBehind, ServerIndex(), ShardIndex(),
          absl::StrCat(kEpochsBehind, ": ", event.where));
}

// One timer for all of a server's commands that did not get through.
void Partition::ServerUnreachable(ServerIndex id) {
  Server& server = tables_.server(id);
  if (std::exchange(server.retry_timer, true)) return;
  ++server.unreachable;
  const Duration delay = std::min<Duration>(Backoff(server.unreachable), kMaxServerBackoff);
  retry_at_[id] = now_ + delay;
  SetTimer(delay, TimerKind::kServerRetry, id.index());
}

void Partition::GotThrough(ServerIndex id) { tables_.server(id).unreachable = 0; }

void Partition::RetryServer(ServerIndex id) {
  Server& server = tables_.server(id);
  server.retry_timer = false;
  retry_at_.erase(id);
  for (ReplicaIndex r : server.replicas) {
    Replica& replica = tables_.replica(r);
    if (replica.contact != Contact::kRetry || replica.failures > 0) continue;
    replica.contact = Contact::kIdle;
    MarkDirty(replica.shard);
  }
}

void Partition::RetryShard(ShardIndex id) {
  tables_.ForEach(id, [&](ReplicaIndex, Replica& replica) {
    if (replica.contact != Contact::kRetry) return;
    if (!IsCalledOff(replica)) {
      replica.contact = Contact::kIdle;
      return;
    }
    // It is not asked again while the end of the move is being written. But nothing may come of
    // that: the new owner may be lost before.
    SetTimer(Backoff(replica.failures), TimerKind::kShardRetry, id.index());
  });
  MarkDirty(id);
}

}  // namespace shardmanager::orchestrator
