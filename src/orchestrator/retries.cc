// Commands that were in vain are sent again, with growing pauses: one timer for a shard that a
// server could not add or drop, one for all commands to a server that could not be reached.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "orchestrator/core/backoff.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/handover.h"
#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {
namespace {

constexpr Duration kMaxServerBackoff = Seconds(5);

}  // namespace

void Partition::CommandFailed(ReplicaIndex id, const CommandResult& event) {
  Replica& replica = state_.tables.replica(id);
  replica.contact = Contact::kRetry;
  const auto [known, fresh] = state_.failures.troubles.try_emplace(Key(event.shard, event.server));
  Trouble& trouble = known->second;
  if (fresh) trouble.since = state_.now;
  trouble.error = event.error;
  trouble.outcome = event.outcome;
  trouble.serving_epoch = event.serving_epoch;
  if (event.outcome == CommandOutcome::kDeposed && state_.failures.overtaken.NoteLeaderBehind()) {
    agenda_.AddNote(NoteKind::kEpochsBehind, event.server, ShardIndex(),
                    absl::StrCat(kEpochsBehind, ": ", event.error));
  }
  if (IsUnreachable(event.outcome)) {
    replica.failures = 0;  // the server's timer brings it back, not its own
    ServerUnreachable(event.server);
    trouble.retry_at = retry_at_[event.server];
    return;
  }
  if (replica.failures < UINT8_MAX) ++replica.failures;
  trouble.retry_at = state_.now + Backoff(replica.failures);
  agenda_.AddNote(NoteKind::kCommandFailed, event.server, event.shard, event.error);
  agenda_.SetTimer(Backoff(replica.failures), TimerKind::kShardRetry, event.shard.index());
  const bool comes = replica.phase == Phase::kGranted || replica.phase == Phase::kPreparing;
  if (comes && event.outcome == CommandOutcome::kFailed)
    sick_servers_.NoteAddFailed(replica, event.error);
  if (IsOvertaken(state_, replica) &&
      state_.failures.overtaken.NoteOvertaken(event.shard, state_.now)) {
    agenda_.AddNote(NoteKind::kEpochsBehind, event.server, event.shard,
                    absl::StrCat(kEpochsBehind, ": ", event.error));
  }
  failed_shards_.NotePoison(id);
  agenda_.MarkDirty(event.shard);  // a handover may be called off, or the shard goes elsewhere
}

void Partition::On(LaterLeaderSeen& event) {
  if (!state_.failures.overtaken.NoteLeaderBehind()) return;
  agenda_.AddNote(NoteKind::kEpochsBehind, ServerIndex(), ShardIndex(),
                  absl::StrCat(kEpochsBehind, ": ", event.where));
}

// One timer for all of a server's commands that did not get through.
void Partition::ServerUnreachable(ServerIndex id) {
  Server& server = state_.tables.server(id);
  if (std::exchange(server.retry_timer, true)) return;
  ++server.unreachable;
  const Duration delay = std::min<Duration>(Backoff(server.unreachable), kMaxServerBackoff);
  retry_at_[id] = state_.now + delay;
  agenda_.SetTimer(delay, TimerKind::kServerRetry, id.index());
}

void Partition::GotThrough(ServerIndex id) { state_.tables.server(id).unreachable = 0; }

void Partition::RetryServer(ServerIndex id) {
  Server& server = state_.tables.server(id);
  server.retry_timer = false;
  retry_at_.erase(id);
  for (ReplicaIndex r : server.replicas) {
    Replica& replica = state_.tables.replica(r);
    if (replica.contact != Contact::kRetry || replica.failures > 0) continue;
    replica.contact = Contact::kIdle;
    agenda_.MarkDirty(replica.shard);
  }
}

void Partition::RetryShard(ShardIndex id) {
  state_.tables.ForEach(id, [&](ReplicaIndex, Replica& replica) {
    if (replica.contact != Contact::kRetry) return;
    if (!IsCalledOff(state_, replica)) {
      replica.contact = Contact::kIdle;
      return;
    }
    // It is not asked again while the end of the move is being written. But nothing may come of
    // that: the new owner may be lost before.
    agenda_.SetTimer(Backoff(replica.failures), TimerKind::kShardRetry, id.index());
  });
  agenda_.MarkDirty(id);
}

}  // namespace shardmanager::orchestrator
