#include "orchestrator/decide/waits.h"

#include <utility>

#include "model/pause.h"
#include "orchestrator/decide/drains.h"
#include "orchestrator/decide/failover.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/next_step.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/room.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/decide/unread.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

void AddWriteWaits(const PartitionState& state, ShardIndex id, std::vector<Wait>& waits) {
  const Shard& shard = state.tables.shard(id);
  if (shard.in_batch) {
    waits.push_back({WaitReason::kWriteUnderWay});
  } else if (state.writes.blocked && shard.waits_for_write) {
    waits.push_back({WaitReason::kWriteFailed});
  } else if (shard.waits_for_write) {
    waits.push_back({.reason = WaitReason::kWriteQueued,
                     .count = static_cast<uint32_t>(state.writes.queue.size() - 1)});
  }
}

// Of its command.
std::optional<Wait> CommandWait(const PartitionState& state, const Replica& replica) {
  const CommandKind command = DemandOf(replica.phase).value_or(CommandKind::kAdd);
  if (replica.contact == Contact::kAsked) {
    return Wait{.reason = WaitReason::kCommandUnderWay,
                .server = replica.server,
                .command = command,
                .percent = ProgressOf(state, replica.shard, replica.server)};
  }
  if (replica.contact != Contact::kRetry) return std::nullopt;
  const auto trouble = state.failures.troubles.find(Key(replica.shard, replica.server));
  if (trouble == state.failures.troubles.end()) return std::nullopt;
  return Wait{
      .reason = replica.failures == 0 ? WaitReason::kServerUnreachable : WaitReason::kCommandFailed,
      .server = replica.server,
      .command = command,
      .count = replica.failures,
      .until = trouble->second.retry_at,
      .detail = trouble->second.error};
}

std::optional<Wait> ReplicaWait(const PartitionState& state, const Replica& replica) {
  const Server& server = state.tables.server(replica.server);
  if (server.state != ServerState::kLive && !server.failing_over) {
    if (PlacesNothing(state)) return std::nullopt;  // kPaused
    return Wait{
        .reason = WaitReason::kServerLost, .server = replica.server, .until = server.failover_at};
  }
  if (replica.phase == Phase::kReserved) {
    return Wait{.reason = WaitReason::kOldOwnerStops, .server = replica.server};
  }
  if (server.state == ServerState::kLive && server.life_unread) {
    return Wait{.reason = WaitReason::kLiveRecordUnread, .server = replica.server};
  }
  if (server.state == ServerState::kLive && !server.reported) {
    return Wait{.reason = WaitReason::kReportMissing, .server = replica.server};
  }
  return CommandWait(state, replica);
}

void AddHeldMoves(const MoveHolds::Entry& held, TimePoint now, std::vector<Wait>& waits) {
  if (now < held.until)
    waits.push_back({.reason = WaitReason::kMoveCalledOff, .until = held.until});
  if (now >= held.avoid_until) return;
  waits.push_back({.reason = WaitReason::kMoveHeld,
                   .other = held.avoided.back(),
                   .count = static_cast<uint32_t>(held.avoided.size() - 1),
                   .until = held.avoid_until});
  if (now < held.tried_until) {
    waits.push_back({.reason = WaitReason::kMovesFail, .until = held.tried_until});
  }
}

void AddHolds(const PartitionState& state, ShardIndex id, TimePoint now, std::vector<Wait>& waits) {
  const MoveHolds& holds = state.failures.holds;
  if (state.tables.shard(id).poisoned) {
    waits.push_back({.reason = WaitReason::kPoisoned, .until = holds.HeldUntil(id, now)});
  } else if (const MoveHolds::Entry* held = holds.Find(id); held != nullptr) {
    AddHeldMoves(*held, now, waits);
  }
  if (state.failures.overtaken.Contains(id)) waits.push_back({WaitReason::kEpochsBehind});
}

void AddMemberWaits(const PartitionState& state, ShardIndex id, TimePoint now,
                    std::vector<Wait>& waits) {
  for (const MoveHolds::HeldPair& pair : HeldPairs(state, id, now)) {
    waits.push_back({.reason = WaitReason::kPairHeld,
                     .server = state.tables.replica(PrimaryOf(state, id)).server,
                     .other = pair.to,
                     .until = pair.until});
  }
  const auto found = state.members.find(id);
  if (found == state.members.end()) return;
  const ToldMembers& membership = found->second;
  if (membership.contact == Contact::kAsked) {
    waits.push_back({WaitReason::kMembersUnderWay});
  } else if (membership.contact == Contact::kRetry && !membership.candidate) {
    waits.push_back({.reason = WaitReason::kMembersRefused, .detail = membership.error});
  }
  for (const ToldMembers::Failed& failed : membership.failed) {
    if (!state.tables.FindReplica(id, failed.member.server).valid()) continue;
    waits.push_back({.reason = WaitReason::kMemberNotInStep,
                     .server = failed.member.server,
                     .count = failed.failures,
                     .until = failed.retry_at,
                     .detail = failed.error});
  }
}

void AddPlaceWaits(const PartitionState& state, ShardIndex id, TimePoint now,
                   std::vector<Wait>& waits) {
  const Shard& shard = state.tables.shard(id);
  if (PlacesNothing(state)) return;  // kPaused
  if (shard.waits_for_budget) {
    if (std::optional<Wait> wait = FailoverWait(state, id)) waits.push_back(*std::move(wait));
  }
  if (!shard.missing) return;
  if (const allocator::SkipReason* reason = state.missing.Find(id); state.missing.Waits(id)) {
    waits.push_back({.reason = WaitReason::kNoPlace,
                     .until = state.missing.retry_by(now),
                     .detail = reason == nullptr ? "" : std::string(allocator::ToString(*reason))});
  } else if (WaitsForFleet(state, shard, now)) {
    waits.push_back({.reason = WaitReason::kFleetGathers, .until = state.gather_until});
  } else {
    waits.push_back(
        {state.balance.plan_out ? WaitReason::kPlanUnderWay : WaitReason::kPlanAwaited});
  }
}

// Said of every shard that stays: nobody knows what would be done with it otherwise.
void AddPause(const PartitionState& state, ShardIndex id, std::vector<Wait>& waits) {
  if (MovesNothing(state)) waits.push_back({WaitReason::kPaused});
  if (OnlyBalanceIsPaused(state)) waits.push_back({WaitReason::kBalancePaused});
  if (const v1::Pin* pin = PinOf(state, id)) {
    waits.push_back({.reason = WaitReason::kPinned, .detail = PinText(*pin)});
  }
}

// Of balance: only what keeps a move from being made.
void AddMoveWaits(const PartitionState& state, ShardIndex id, std::vector<Wait>& waits) {
  if (StaysPut(state, id)) return;
  if (const auto to = state.switchovers.to.find(id); to != state.switchovers.to.end()) {
    state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
      if (replica.role != Role::kPrimary || replica.server == to->second) return;
      waits.push_back({.reason = WaitReason::kRoleChangePlanned,
                       .server = replica.server,
                       .other = to->second});
    });
  }
  if (auto it = state.moves.intents.find(id); it != state.moves.intents.end()) {
    for (const Intent& intent : it->second) {
      if (!intent.from.valid()) continue;
      waits.push_back({.reason = WaitReason::kMovePlanned,
                       .server = intent.from,
                       .other = intent.to,
                       .detail = std::string(allocator::ToString(intent.reason))});
    }
  }
  for (const Cause cause : {Cause::kBalance, Cause::kDrain}) {
    bool concerned = false;
    state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
      concerned |= CauseOfMove(state, replica.server) == cause;
    });
    if (!concerned) continue;
    if (cause == Cause::kDrain && MovedJustNow(state, id)) {
      waits.push_back({WaitReason::kMovedJustNow});
    }
    if (state.moves.budgets.Left(cause)) continue;
    waits.push_back({.reason = WaitReason::kMoveBudget,
                     .cause = cause,
                     .count = state.moves.budgets.under_way(cause)});
  }
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const bool leaves = state.tables.server(replica.server).draining;
    if (leaves && NothingMoves(state)) {
      waits.push_back({.reason = WaitReason::kDrainStuck, .server = replica.server});
    }
    const Cause cause = CauseOfMove(state, replica.server);
    if (state.moves.budgets.Left(cause, replica.server)) return;
    waits.push_back({.reason = WaitReason::kMoveBudgetOfServer,
                     .server = replica.server,
                     .cause = cause,
                     .count = state.moves.budgets.under_way(cause, replica.server)});
  });
}

// It is wanted in a region whose servers have all come and gone. The one that is steady first:
void AddSteadinessWait(const PartitionState& state, ShardIndex id, TimePoint now,
                       std::vector<Wait>& waits) {
  const uint32_t region = state.tables.shard(id).region;
  if (region == 0 || StaysPut(state, id)) return;
  bool there = false;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const bool counts = replica.role == Role::kPrimary || !state.replication.both_roles();
    there |= counts && state.tables.server(replica.server).region == region;
  });
  if (there) return;
  ServerIndex first;
  for (const ServerIndex server : state.tables.servers()) {
    const Server& one = state.tables.server(server);
    if (one.region != region || one.state != ServerState::kLive) continue;
    if (one.steadiness.IsSteady(now)) return;
    if (!first.valid() ||
        one.steadiness.steady_at() < state.tables.server(first).steadiness.steady_at()) {
      first = server;
    }
  }
  if (!first.valid()) return;
  const Steadiness& steadiness = state.tables.server(first).steadiness;
  waits.push_back({.reason = WaitReason::kRegionUnsteady,
                   .server = first,
                   .count = static_cast<uint32_t>(steadiness.losses()),
                   .until = steadiness.steady_at()});
}

// Its own orchestrator knows the rest.
std::vector<Wait> MirroredWaits(const PartitionState& state, ShardIndex shard) {
  std::vector<Wait> waits;
  if (IsMapMissing(state)) {
    waits.push_back({.reason = WaitReason::kMapMissing, .detail = WhyMapIsMissing(state)});
  }
  uint32_t replicas = 0;
  state.tables.ForEach(shard, [&](ReplicaIndex, const Replica& replica) {
    ++replicas;
    if (Serves(state, replica)) return;
    waits.push_back({.reason = WaitReason::kNotServing, .server = replica.server});
  });
  const uint32_t wanted = state.tables.shard(shard).wanted;
  if (replicas < wanted) {
    waits.push_back({.reason = WaitReason::kFewReplicas, .count = replicas, .limit = wanted});
  }
  return waits;
}

}  // namespace

std::vector<Wait> WaitsOf(const PartitionState& state, ShardIndex shard, TimePoint now) {
  if (Mirrors(state)) return MirroredWaits(state, shard);
  std::vector<Wait> waits;
  AddWriteWaits(state, shard, waits);
  if (const std::optional<WaitReason> why = WhyHeldBack(state, shard)) {
    waits.push_back({*why});
    return waits;
  }
  state.tables.ForEach(shard, [&](ReplicaIndex, const Replica& replica) {
    if (std::optional<Wait> wait = ReplicaWait(state, replica)) waits.push_back(*std::move(wait));
  });
  AddHolds(state, shard, now, waits);
  if (!state.tables.shard(shard).in_batch) {
    for (Wait& wait : NextStep(state, shard).waits) waits.push_back(std::move(wait));
  }
  AddMemberWaits(state, shard, now, waits);
  AddPause(state, shard, waits);
  AddPlaceWaits(state, shard, now, waits);
  AddMoveWaits(state, shard, waits);
  AddSteadinessWait(state, shard, now, waits);
  return waits;
}

}  // namespace shardmanager::orchestrator
