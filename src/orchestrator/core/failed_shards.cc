#include "orchestrator/core/failed_shards.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/view.h"
#include "orchestrator/describe/shards.h"

namespace shardmanager::orchestrator {

void FailedShards::NoteFailedAt(const Replica& replica) {
  const auto moved = state_.moves.from.find(replica.shard);
  if (IsMove(replica.cause) && (!replica.settled || moved != state_.moves.from.end())) {
    HoldMoves(replica.shard, replica.server);
    if (replica.role == Role::kPrimary) state_.failures.return_to[replica.shard] = replica.origin;
  } else if (const ServerIndex resort = LastResort(state_, replica); resort.valid()) {
    state_.failures.return_to[replica.shard] = resort;
  }
  if (Serves(state_, replica)) {  // it was added, but its primary cannot bring it into step
    const ReplicaIndex primary = PrimaryOf(state_, replica.shard);
    if (!primary.valid() || !IsMove(replica.cause)) return;
    const ServerIndex from = state_.tables.replica(primary).server;
    agenda_.SetTimer(state_.failures.holds.HoldPair(from, replica.server, state_.now),
                     TimerKind::kMoveAgain, replica.shard.index());
    return;
  }
  Servers& servers = state_.failures.failed_at[replica.shard];
  const bool known = std::find(servers.begin(), servers.end(), replica.server) != servers.end();
  if (!known) servers.push_back(replica.server);
}

void FailedShards::NotePoison(ReplicaIndex id) {
  const Replica& replica = state_.tables.replica(id);
  Shard& shard = state_.tables.shard(replica.shard);
  if (replica.phase != Phase::kGranted || replica.failures < kMostFailures || shard.poisoned)
    return;
  if (!IsLastServer(state_, replica) && !HasFailedWhereverItCouldBe(state_, replica)) return;
  shard.poisoned = true;
  const Duration pause = state_.failures.holds.Hold(replica.shard, state_.now);
  agenda_.SetTimer(pause, TimerKind::kTryElsewhere, replica.shard.index());
  agenda_.AddNote(
      NoteKind::kShardPoisoned, replica.server, replica.shard,
      absl::StrFormat("it failed on %d servers in a row; it stays here, and is tried elsewhere "
                      "in %.0f s: %s",
                      ServersThatFailed(state_, replica), InSeconds(pause),
                      ErrorOf(state_, replica.shard, replica.server)));
}

void FailedShards::TryElsewhere(ShardIndex id) {
  state_.missing.Retry(id);
  const auto found = state_.failures.failed_at.find(id);
  if (!std::exchange(state_.tables.shard(id).poisoned, false) ||
      found == state_.failures.failed_at.end()) {
    return;
  }
  found->second.clear();
  agenda_.MarkDirty(id);
}

void FailedShards::AllowFailed(ShardIndex id) {
  bool stays = false;
  state_.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const bool live = state_.tables.server(replica.server).state == ServerState::kLive;
    stays |= live && !Serves(state_, replica) && IsLastServer(state_, replica);
  });
  if (!stays) ForgetPoison(id);
}

void FailedShards::ForgetFailedMove(ShardIndex id) {
  if (!state_.failures.failed_at.contains(id)) return;
  uint32_t serving = 0;
  state_.tables.ForEach(
      id, [&](ReplicaIndex, const Replica& replica) { serving += Serves(state_, replica); });
  if (serving >= state_.tables.shard(id).wanted) ForgetPoison(id);
}

void FailedShards::ForgetPoison(ShardIndex id) {
  if (!state_.failures.failed_at.empty()) state_.failures.failed_at.erase(id);
  if (std::exchange(state_.tables.shard(id).poisoned, false)) state_.failures.holds.Forget(id);
}

void FailedShards::ForgetAll(ShardIndex id) {
  ForgetPoison(id);
  state_.failures.holds.Forget(id);
}

void FailedShards::HoldMoves(ShardIndex id, ServerIndex avoid) {
  MoveHolds& holds = state_.failures.holds;
  const Duration pause =
      avoid.valid() ? holds.HoldTo(id, avoid, state_.now) : holds.Hold(id, state_.now);
  agenda_.SetTimer(pause, TimerKind::kMoveAgain, id.index());
  const Duration sooner = holds.HeldUntil(id, state_.now) - state_.now;
  if (sooner > Duration(0) && sooner < pause) {  // then it goes where it has not failed
    agenda_.SetTimer(sooner, TimerKind::kMoveAgain, id.index());
  }
}

}  // namespace shardmanager::orchestrator
