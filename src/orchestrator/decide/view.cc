#include "orchestrator/decide/view.h"

#include <algorithm>

#include "base/defect.h"
#include "orchestrator/decide/drains.h"

namespace shardmanager::orchestrator {
namespace {

bool IsMoving(const PartitionState& state, ShardIndex id) {
  if (const auto it = state.moves.intents.find(id); it != state.moves.intents.end()) {
    const auto is_move = [](const Intent& intent) { return intent.from.valid(); };
    if (std::any_of(it->second.begin(), it->second.end(), is_move)) return true;
  }
  bool moves = false;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    moves |= IsMove(replica.cause) && !replica.settled;
  });
  return moves;
}

}  // namespace

bool MayProcess(const Replica& replica) {
  if (replica.phase == Phase::kForwarding || replica.phase == Phase::kDemoting) {
    return replica.contact != Contact::kDone;
  }
  return replica.phase != Phase::kAbsent && replica.phase != Phase::kReserved;
}

Cause CauseOfMove(const PartitionState& state, ServerIndex from) {
  return state.tables.server(from).draining ? Cause::kDrain : Cause::kBalance;
}

Cause CauseOfSwitchover(const PartitionState& state, ServerIndex from) {
  return state.tables.server(from).sheds_primaries ? Cause::kDrain : Cause::kBalance;
}

std::string OperationOf(const PartitionState& state, ShardIndex id) {
  const auto begun = state.moves.begun.find(id);
  if (begun != state.moves.begun.end() && (begun->second.serves || IsMoving(state, id))) {
    return begun->second.operation;
  }
  // A planned change of its primary, until clients know of it.
  const bool changes =
      state.switchovers.under_way.contains(id) || state.tables.shard(id).primary_is_new;
  if (!changes) return "";
  std::string operation;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    if (state.tables.server(replica.server).sheds_primaries) {
      operation = OperationBehind(state, replica.server);
    }
  });
  return operation;
}

ServerIndex SourceOfMove(const PartitionState& state, ShardIndex id) {
  const auto from = state.moves.from.find(id);
  if (from == state.moves.from.end() || Planted(Defect::kCountsMovesTwice)) return ServerIndex();
  const ReplicaIndex source = state.tables.FindReplica(id, from->second);
  if (!source.valid()) return ServerIndex();
  // (What was to take its place may be gone again, or have taken that of another one that was
  // lost.)
  bool goes_on = false;
  uint32_t replicas = 0;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    if (replica.phase == Phase::kDropping || IsGone(state.tables.server(replica.server))) return;
    ++replicas;
    goes_on |= IsMove(replica.cause) && replica.origin == from->second &&
               replica.epoch > state.tables.replica(source).epoch;
  });
  return goes_on && replicas > state.tables.shard(id).wanted ? from->second : ServerIndex();
}

ReplicaIndex PrimaryOf(const PartitionState& state, ShardIndex id) {
  ReplicaIndex primary;
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    const bool serves = replica.role == Role::kPrimary && Serves(state, replica);
    if (serves && !replica.in_write) primary = r;
  });
  return primary;
}

bool Serves(const PartitionState& state, const Replica& replica) {
  return replica.phase == Phase::kGranted && replica.contact == Contact::kDone &&
         state.tables.server(replica.server).state == ServerState::kLive;
}

std::optional<CommandKind> Demand(const Replica& replica) {
  const auto kind = DemandOf(replica.phase);
  return kind == CommandKind::kAdd && replica.role_changed ? CommandKind::kChangeRole : kind;
}

bool IsGone(const Server& server) {
  return server.state != ServerState::kLive && !server.conflicted;
}

bool IsGivenUp(const Server& server) { return IsGone(server) && server.failing_over; }

TimePoint LastResortAt(const PartitionState& state, const Server& server) {
  return std::max(server.lost_at, server.planned.away_until) + LastResortDelay(state);
}

bool IsLastResort(const PartitionState& state, const Server& server) {
  if (Planted(Defect::kElectsWhoIsBackFirst)) return IsGivenUp(server);
  return IsGivenUp(server) && state.now >= LastResortAt(state, server);
}

bool IsCurrent(const PartitionState& state, const Replica& replica) {
  if (replica.member_life == 0 || state.replication.quorum) {
    return replica.member_life != 0;
  }
  return replica.member_life == state.tables.server(replica.server).life();
}

bool InStep(const PartitionState& state, const Replica& replica) {
  return Serves(state, replica) && (replica.role == Role::kPrimary || IsCurrent(state, replica));
}

bool ServesClients(const PartitionState& state, const Replica& replica) {
  return state.replication.both_roles() ? InStep(state, replica) : Serves(state, replica);
}

bool HasMajority(const PartitionState& state, ShardIndex id) {
  uint32_t members = 0;
  uint32_t live = 0;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    members += replica.member_life != 0;
    const bool demoting =
        replica.phase == Phase::kDemoting && !IsGone(state.tables.server(replica.server));
    live += replica.member_life != 0 && (Serves(state, replica) || demoting);
  });
  return live > members / 2 || members == 0;
}

bool MovedJustNow(const PartitionState& state, ShardIndex id) {
  return state.replication.handover && state.tables.shard(id).primary_is_new;
}

int ProgressOf(const PartitionState& state, ShardIndex shard, ServerIndex server) {
  auto it = state.progress.find(Key(shard, server));
  return it == state.progress.end() ? -1 : it->second;
}

bool TakesNothing(const Server& server) { return server.record_unread || server.life_unread; }

}  // namespace shardmanager::orchestrator
