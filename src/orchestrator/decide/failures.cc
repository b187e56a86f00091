#include "orchestrator/decide/failures.h"

#include <algorithm>

#include "base/defect.h"
#include "orchestrator/decide/census.h"
#include "orchestrator/decide/handover.h"
#include "orchestrator/decide/members.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/room.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// Some replica is on its way already. (The old owner of a handover, which only waits for the new
// one to serve, is not: that one may fail.)
bool IsMoving(const PartitionState& state, ShardIndex id) {
  bool moving = false;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const bool waits = StillForwards(state, replica) && !Planted(Defect::kLeavesItWithTheSick);
    moving |= replica.phase != Phase::kGranted && !waits;
  });
  return moving;
}

bool CouldHave(const PartitionState& state, ShardIndex id, ServerIndex server) {
  return CanBeTarget(state, id, server) && Accepts(state, server);
}

bool HasNewPlace(const PartitionState& state, ShardIndex id) {
  const Servers failed = FailedAt(state, id);
  for (const ServerIndex server : state.tables.servers()) {
    const bool fresh = std::find(failed.begin(), failed.end(), server) == failed.end();
    if (fresh && CouldHave(state, id, server)) return true;
  }
  return false;
}

bool MayReturn(const PartitionState& state, ServerIndex id) {
  const Server& server = state.tables.server(id);
  return server.state == ServerState::kLive && !TakesNothing(server) &&
         !state.failures.quarantine.IsSick(id) && !IsBarred(state, id) &&
         RecordTakes(state, id, state.records.most_replica_bytes);
}

// The server that had the shard before a move that failed; invalid: there is none, or it cannot
// have it. It may be draining: better there than nowhere.
ServerIndex ReturnsTo(const PartitionState& state, ShardIndex id) {
  const auto found = state.failures.return_to.find(id);
  if (found == state.failures.return_to.end() || !MayReturn(state, found->second)) {
    return ServerIndex();
  }
  return state.tables.FindReplica(id, found->second).valid() ? ServerIndex() : found->second;
}

}  // namespace

void DecideOvertaken(const PartitionState& state, Change& change, ShardIndex id) {
  if (!state.failures.overtaken.MayGrantAnew(id, state.now)) return;
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (!IsOvertaken(state, replica) || IsMoving(state, id) || !MayLeave(state, change, replica)) {
      return;
    }
    change.phases.push_back({.replica = r, .to = Phase::kDropping, .overtaken = true});
  });
}

void DecideElsewhere(const PartitionState& state, Change& change, ShardIndex id) {
  const bool surplus = Count(state, change, id).healthy > state.tables.shard(id).wanted;
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    const uint8_t most =
        state.failures.quarantine.IsSick(replica.server) ? uint8_t{1} : kMostFailures;
    const bool fails = replica.phase == Phase::kGranted && replica.contact == Contact::kRetry &&
                       replica.failures >= most && !IsEnding(change, r);
    if (!fails || (state.replication.both_roles() && replica.role == Role::kPrimary)) return;
    if (!MayLeave(state, change, replica) || IsMoving(state, id)) return;
    if (!PrimaryOf(state, id).valid() && IsAwaitedFormer(state, replica)) return;
    // Of a paused app only a move that failed is undone.
    const bool returns =
        IsMove(replica.cause) && !replica.settled && MayReturn(state, replica.origin);
    if (!surplus && !returns && PlacesNothing(state)) return;
    if (!surplus && (IsLastServer(state, replica) || !HasOtherPlace(state, replica))) return;
    change.phases.push_back({.replica = r, .to = Phase::kDropping, .failed = true});
  });
}

Servers FailedAt(const PartitionState& state, ShardIndex id) {
  if (state.failures.failed_at.empty()) return {};
  const auto found = state.failures.failed_at.find(id);
  return found == state.failures.failed_at.end() ? Servers() : found->second;
}

Servers Avoided(const PartitionState& state, ShardIndex id, bool of_move) {
  Servers servers = FailedAt(state, id);
  const auto add = [&](ServerIndex server) {
    const bool known = std::find(servers.begin(), servers.end(), server) != servers.end();
    if (!known) servers.push_back(server);
  };
  if (!of_move) return servers;
  for (const ServerIndex server : state.failures.holds.ToAvoid(id, state.now)) add(server);
  for (const MoveHolds::HeldPair& pair : HeldPairs(state, id, state.now)) add(pair.to);
  if (const auto sent = state.switchovers.sent_to.find(id);
      sent != state.switchovers.sent_to.end()) {
    add(sent->second);
  }
  return servers;
}

std::vector<MoveHolds::HeldPair> HeldPairs(const PartitionState& state, ShardIndex id,
                                           TimePoint now) {
  if (!state.replication.both_roles() || !state.failures.holds.AnyPair()) return {};
  const ReplicaIndex primary = PrimaryOf(state, id);
  if (!primary.valid()) return {};
  return state.failures.holds.HeldFrom(state.tables.replica(primary).server, now);
}

size_t ServersThatFailed(const PartitionState& state, const Replica& replica) {
  const Servers failed = FailedAt(state, replica.shard);
  const auto others = std::count_if(failed.begin(), failed.end(),
                                    [&](ServerIndex id) { return id != replica.server; });
  return static_cast<size_t>(others) + 1;
}

bool IsLastServer(const PartitionState& state, const Replica& replica) {
  return ServersThatFailed(state, replica) >= kMostServers;
}

bool HasFailedWhereverItCouldBe(const PartitionState& state, const Replica& replica) {
  const Servers failed = FailedAt(state, replica.shard);
  const bool another = std::any_of(failed.begin(), failed.end(), [&](ServerIndex id) {
    return id != replica.server && CouldHave(state, replica.shard, id);
  });
  return another && !HasOtherPlace(state, replica);
}

bool HasOtherPlace(const PartitionState& state, const Replica& replica) {
  const bool came = IsMove(replica.cause) && !replica.settled && replica.role == Role::kPrimary;
  return (came && MayReturn(state, replica.origin)) || HasNewPlace(state, replica.shard) ||
         LastResort(state, replica).valid();
}

ServerIndex LastResort(const PartitionState& state, const Replica& replica) {
  if (replica.role != Role::kPrimary || HasNewPlace(state, replica.shard)) return ServerIndex();
  const Servers failed = FailedAt(state, replica.shard);
  for (const ServerIndex server : state.tables.servers()) {
    const bool fresh = std::find(failed.begin(), failed.end(), server) == failed.end();
    const bool emptied = state.tables.server(server).draining && RegionAllowed(state, server);
    if (!fresh || !emptied || state.tables.FindReplica(replica.shard, server).valid()) continue;
    if (MayReturn(state, server)) return server;
  }
  return ServerIndex();
}

bool IsInTroubleForLong(const PartitionState& state, const Replica& replica) {
  const auto trouble = state.failures.troubles.find(Key(replica.shard, replica.server));
  const Duration patience = LastResortDelay(state);
  return trouble != state.failures.troubles.end() && state.now >= trouble->second.since + patience;
}

bool IsOvertaken(const PartitionState& state, const Replica& replica) {
  if (replica.phase != Phase::kGranted || replica.contact != Contact::kRetry) return false;
  const auto trouble = state.failures.troubles.find(Key(replica.shard, replica.server));
  return trouble != state.failures.troubles.end() &&
         trouble->second.outcome == CommandOutcome::kStale;
}

bool MayMove(const PartitionState& state, ShardIndex id) {
  return state.failures.holds.HeldUntil(id, state.now) <= state.now;
}

bool MayMoveTo(const PartitionState& state, ShardIndex id, ServerIndex server) {
  if (!MayMove(state, id)) return false;
  const Servers avoided = state.failures.holds.ToAvoid(id, state.now);
  if (std::find(avoided.begin(), avoided.end(), server) != avoided.end()) return false;
  const std::vector<MoveHolds::HeldPair> pairs = HeldPairs(state, id, state.now);
  return std::none_of(pairs.begin(), pairs.end(),
                      [&](const MoveHolds::HeldPair& pair) { return pair.to == server; });
}

bool MostServersAreWell(const PartitionState& state) {
  size_t live = 0;
  size_t failing = 0;
  for (const ServerIndex server : state.tables.servers()) {
    if (state.tables.server(server).state != ServerState::kLive) continue;
    ++live;
    failing += state.failures.quarantine.IsFailing(server);
  }
  return 2 * failing <= live;
}

bool IsBarred(const PartitionState& state, ServerIndex id) {
  if (state.records.oversize.Waits(id, state.now)) return true;
  if (!state.failures.quarantine.IsSick(id)) return false;
  if (state.now < state.failures.quarantine.Find(id)->trial_at) return true;
  const std::vector<ReplicaIndex>& replicas = state.tables.server(id).replicas;
  return std::any_of(replicas.begin(), replicas.end(),
                     [&](ReplicaIndex r) { return !state.tables.replica(r).settled; });
}

void DecideReturn(const PartitionState& state, Change& change, ShardIndex id, Census& census) {
  const ServerIndex server = ReturnsTo(state, id);
  const bool free = change.empty() && !state.tables.shard(id).first.valid();
  if (!server.valid() || !free || Planted(Defect::kLeavesItWithTheSick)) return;
  change.news.push_back({server, Phase::kGranted, Cause::kPlacement, ServerIndex(),
                         RoleOfNew(state, change, id, census)});
  ++census.healthy;
  census.primary_right |= change.news.back().role == Role::kPrimary;
}

}  // namespace shardmanager::orchestrator
