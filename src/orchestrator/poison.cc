// Shards that servers cannot add. One that fails is tried again by the same server, with
// back-off; after a few times (at once, if the server is sick: quarantine.h) it is given to
// another one, first of all back to the one that had it before the move. One that fails on
// several servers in a row is a poison shard: it would only break one server after the other, so
// it stays where it is, is tried again there, and is told of. At growing intervals it goes on to
// other servers all the same: its last server may be the one that is broken.
#include <algorithm>

#include "absl/strings/str_format.h"
#include "base/defect.h"
#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {
namespace {

// In a row; the last one keeps it.
constexpr size_t kMostServers = 3;

}  // namespace

// Adds to change_ the end of a grant that is over for its server.
void Partition::DecideOvertaken(ShardIndex id) {
  if (!overtaken_.MayGrantAnew(id, now_)) return;
  tables_.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (!IsOvertaken(replica) || IsMoving(id) || !MayLeave(replica)) return;
    change_.phases.push_back({.replica = r, .to = Phase::kDropping, .overtaken = true});
  });
}

// Adds to change_ the end of a replica whose server cannot add it, if another one may, or has
// the shard already and one too many was asked for: a move. (Who is to be the primary where
// there are secondaries: roles.cc.)
void Partition::DecideElsewhere(ShardIndex id) {
  const bool surplus = Count(id).healthy > tables_.shard(id).wanted;
  tables_.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    const uint8_t most = quarantine_.IsSick(replica.server) ? uint8_t{1} : kMostFailures;
    const bool fails = replica.phase == Phase::kGranted && replica.contact == Contact::kRetry &&
                       replica.failures >= most && !IsEnding(r);
    if (!fails || (HasBothRoles() && replica.role == Role::kPrimary)) return;
    if (!MayLeave(replica) || IsMoving(id)) return;
    if (!surplus && (IsLastServer(replica) || !HasOtherPlace(replica))) return;
    change_.phases.push_back({.replica = r, .to = Phase::kDropping, .failed = true});
  });
}

// Servers that could not add it, and had to give it up, since it was served last.
Partition::Servers Partition::FailedAt(ShardIndex id) const {
  if (failed_at_.empty()) return {};
  const auto found = failed_at_.find(id);
  return found == failed_at_.end() ? Servers() : found->second;
}

// And the one to which its last move failed, just now; of a move, also those that its primary
// could not bring into step, and the one that was its primary until just now: clients ask that one
// yet, and it sends on what they ask until it has the shard again. (A missing replica is better
// there than nowhere.)
Partition::Servers Partition::Avoided(ShardIndex id, bool of_move) const {
  Servers servers = FailedAt(id);
  const auto add = [&](ServerIndex server) {
    const bool known = std::find(servers.begin(), servers.end(), server) != servers.end();
    if (!known) servers.push_back(server);
  };
  const MoveHolds::Entry* held = move_holds_.Find(id, now_);
  if (held != nullptr && held->avoid.valid()) add(held->avoid);
  if (!of_move) return servers;
  for (const MoveHolds::HeldPair& pair : HeldPairs(id, now_)) add(pair.to);
  if (const auto sent = sent_to_.find(id); sent != sent_to_.end()) add(sent->second);
  return servers;
}

// Where the shard is not moved for now, because of the server that has its primary.
std::vector<MoveHolds::HeldPair> Partition::HeldPairs(ShardIndex id, TimePoint now) const {
  if (!HasBothRoles() || !move_holds_.AnyPair()) return {};
  const ReplicaIndex primary = PrimaryOf(id);
  if (!primary.valid()) return {};
  return move_holds_.HeldFrom(tables_.replica(primary).server, now);
}

// So many others failed before that its server is to keep it.
bool Partition::IsLastServer(const Replica& replica) const {
  const Servers failed = FailedAt(replica.shard);
  const auto others = std::count_if(failed.begin(), failed.end(),
                                    [&](ServerIndex id) { return id != replica.server; });
  return static_cast<size_t>(others) + 1 >= kMostServers;
}

// Its server gives it up. (Once more, if the write of that did not succeed.)
void Partition::NoteFailedAt(const Replica& replica) {
  const auto moved = move_from_.find(replica.shard);
  if (IsMove(replica.cause) && (!replica.settled || moved != move_from_.end())) {
    HoldMoves(replica.shard, replica.server);
    if (replica.role == Role::kPrimary) return_to_[replica.shard] = replica.origin;
  } else if (const ServerIndex resort = LastResort(replica); resort.valid()) {
    return_to_[replica.shard] = resort;
  }
  if (Serves(replica)) {  // it was added, but its primary cannot bring it into step
    const ReplicaIndex primary = PrimaryOf(replica.shard);
    if (!primary.valid() || !IsMove(replica.cause)) return;
    const ServerIndex from = tables_.replica(primary).server;
    SetTimer(move_holds_.HoldPair(from, replica.server, now_), TimerKind::kMoveAgain,
             replica.shard.index());
    return;
  }
  Servers& servers = failed_at_[replica.shard];
  const bool known = std::find(servers.begin(), servers.end(), replica.server) != servers.end();
  if (!known) servers.push_back(replica.server);
}

// Some replica is on its way already. (The old owner of a handover, which only waits for the new
// one to serve, is not: that one may fail.)
bool Partition::IsMoving(ShardIndex id) const {
  bool moving = false;
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const bool waits = replica.phase == Phase::kDropping && StillForwards(replica) &&
                       !Planted(Defect::kLeavesItWithTheSick);
    moving |= replica.phase != Phase::kGranted && !waits;
  });
  return moving;
}

// Where else the shard could be: where it came from, or on a server where it has not failed yet.
// (A plan chooses none of those where it has: planning.cc.)
bool Partition::HasOtherPlace(const Replica& replica) const {
  const bool came = IsMove(replica.cause) && !replica.settled && replica.role == Role::kPrimary;
  return (came && MayReturn(replica.origin)) || HasNewPlace(replica.shard) ||
         LastResort(replica).valid();
}

bool Partition::HasNewPlace(ShardIndex id) const {
  const Servers failed = FailedAt(id);
  for (uint32_t i = 0; i < tables_.server_count(); ++i) {
    const ServerIndex server(i);
    const bool fresh = std::find(failed.begin(), failed.end(), server) == failed.end();
    if (fresh && CanBeTarget(id, server) && Accepts(server)) return true;
  }
  return false;
}

// Where no plan would put the primary: on a server that is to be emptied. Better there than
// nowhere, also if it came from there and a former leader took that knowledge along. Invalid: there
// is none, or another server may have it.
ServerIndex Partition::LastResort(const Replica& replica) const {
  if (replica.role != Role::kPrimary || HasNewPlace(replica.shard)) return ServerIndex();
  const Servers failed = FailedAt(replica.shard);
  for (uint32_t i = 0; i < tables_.server_count(); ++i) {
    const ServerIndex server(i);
    const bool fresh = std::find(failed.begin(), failed.end(), server) == failed.end();
    const bool emptied = tables_.server(server).draining && RegionAllowed(server);
    if (!fresh || !emptied || tables_.FindReplica(replica.shard, server).valid()) continue;
    if (MayReturn(server)) return server;
  }
  return ServerIndex();
}

// Its server has seen that this grant is over, as after a command that came late: nothing is
// served under it any more. The shard needs a new one.
bool Partition::IsOvertaken(const Replica& replica) const {
  if (replica.phase != Phase::kGranted || replica.contact != Contact::kRetry) return false;
  const auto trouble = errors_.find(Key(replica.shard, replica.server));
  return trouble != errors_.end() && trouble->second.outcome == CommandOutcome::kStale;
}

// Its server has failed to add it once more.
void Partition::NotePoison(ReplicaIndex id) {
  const Replica& replica = tables_.replica(id);
  Shard& shard = tables_.shard(replica.shard);
  const bool last = IsLastServer(replica) && replica.failures >= kMostFailures;
  if (replica.phase != Phase::kGranted || !last || std::exchange(shard.poisoned, true)) return;
  const Duration pause = move_holds_.Hold(replica.shard, ServerIndex(), now_);
  SetTimer(pause, TimerKind::kTryElsewhere, replica.shard.index());
  AddNote(NoteKind::kShardPoisoned, replica.server, replica.shard,
          absl::StrFormat("it failed on %d servers in a row; it stays here, and is tried elsewhere "
                          "in %.0f s: %s",
                          kMostServers, std::chrono::duration<double>(pause).count(),
                          ErrorOf(replica.shard, replica.server)));
}

// It has stayed long enough. Only its last server counts as one where it failed.
void Partition::TryElsewhere(ShardIndex id) {
  const auto found = failed_at_.find(id);
  if (!std::exchange(tables_.shard(id).poisoned, false) || found == failed_at_.end()) return;
  found->second.clear();
  MarkDirty(id);
}

// No other server has room for it: those that failed are better than none, unless that would
// take a poison shard from where it stays.
void Partition::AllowFailed(ShardIndex id) {
  bool stays = false;
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const bool live = tables_.server(replica.server).state == ServerState::kLive;
    stays |= live && !Serves(replica) && IsLastServer(replica);
  });
  if (!stays) ForgetPoison(id);
}

// A move of it failed, and it is as whole as before: for how long it is not moved there again
// is for MoveHolds to say.
void Partition::ForgetFailedMove(ShardIndex id) {
  if (!failed_at_.contains(id)) return;
  uint32_t serving = 0;
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    serving += replica.phase == Phase::kGranted && Serves(replica);
  });
  if (serving >= tables_.shard(id).wanted) ForgetPoison(id);
}

// It serves, or all servers are to be tried anew.
void Partition::ForgetPoison(ShardIndex id) {
  if (!failed_at_.empty()) failed_at_.erase(id);
  if (std::exchange(tables_.shard(id).poisoned, false)) move_holds_.Forget(id);
}

// A move of it could not be carried out.
void Partition::HoldMoves(ShardIndex id, ServerIndex avoid) {
  SetTimer(move_holds_.Hold(id, avoid, now_), TimerKind::kMoveAgain, id.index());
}

bool Partition::MayMove(ShardIndex id) const {
  const MoveHolds::Entry* held = move_holds_.Find(id, now_);
  return held == nullptr || held->avoid.valid();
}

bool Partition::MayMoveTo(ShardIndex id, ServerIndex server) const {
  const MoveHolds::Entry* held = move_holds_.Find(id, now_);
  if (held != nullptr && (!held->avoid.valid() || held->avoid == server)) return false;
  const std::vector<MoveHolds::HeldPair> pairs = HeldPairs(id, now_);
  return std::none_of(pairs.begin(), pairs.end(),
                      [&](const MoveHolds::HeldPair& pair) { return pair.to == server; });
}

}  // namespace shardmanager::orchestrator
