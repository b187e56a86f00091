// Shards that servers cannot add. One that fails is tried again by the same server, with
// back-off; after a few times it is given to another one. One that fails on several servers
// in a row is a poison shard: it would only break one server after the other, so it stays
// where it is, is tried again there, and is told of.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {
namespace {

// In a row; the last one keeps it.
constexpr size_t kMostServers = 3;
// A move whose new owner could not get ready is not tried again for so long.
constexpr Duration kNoMove = Seconds(60);

}  // namespace

// Adds to change_ the end of a replica whose server cannot add it, if another one may. (Who
// is to be the primary where there are secondaries: roles.cc.)
void Partition::DecideElsewhere(ShardIndex id) {
  tables_.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    const bool fails = replica.phase == Phase::kGranted && replica.contact == Contact::kRetry &&
                       replica.failures >= kMostFailures && !IsEnding(r);
    if (!fails || (HasBothRoles() && replica.role == Role::kPrimary)) return;
    if (IsLastServer(replica) || !MayLeave(replica)) return;
    if (IsMoving(id) || !HasOtherPlace(id)) return;
    change_.phases.push_back({.replica = r, .to = Phase::kDropping, .failed = true});
  });
}

// Servers that could not add it, and had to give it up.
Partition::Servers Partition::FailedAt(ShardIndex id) const {
  if (failed_at_.empty()) return {};
  const auto found = failed_at_.find(id);
  return found == failed_at_.end() ? Servers() : found->second;
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
  Servers& servers = failed_at_[replica.shard];
  const bool known = std::find(servers.begin(), servers.end(), replica.server) != servers.end();
  if (!known) servers.push_back(replica.server);
}

// Some replica is on its way already.
bool Partition::IsMoving(ShardIndex id) const {
  bool moving = false;
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    moving |= replica.phase != Phase::kGranted;
  });
  return moving;
}

// One that has not failed yet: a plan chooses none of those that have (planning.cc).
bool Partition::HasOtherPlace(ShardIndex id) const {
  const Servers failed = FailedAt(id);
  for (uint32_t i = 0; i < tables_.server_count(); ++i) {
    const ServerIndex server(i);
    if (std::find(failed.begin(), failed.end(), server) != failed.end()) continue;
    if (CanBeTarget(id, server) && Accepts(server)) return true;
  }
  return false;
}

// Its server has failed to add it once more.
void Partition::NotePoison(ReplicaIndex id) {
  const Replica& replica = tables_.replica(id);
  Shard& shard = tables_.shard(replica.shard);
  const bool last = IsLastServer(replica) && replica.failures >= kMostFailures;
  if (replica.phase != Phase::kGranted || !last || std::exchange(shard.poisoned, true)) return;
  AddNote(NoteKind::kShardPoisoned, replica.server, replica.shard,
          absl::StrCat("it failed on ", kMostServers, " servers in a row, and stays here: ",
                       ErrorOf(replica.shard, replica.server)));
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

// It serves, or its owner wants it tried anew.
void Partition::ForgetPoison(ShardIndex id) {
  if (!failed_at_.empty()) failed_at_.erase(id);
  tables_.shard(id).poisoned = false;
}

// The new owner of a handover could not get ready.
void Partition::HoldMoves(ShardIndex id) {
  no_move_until_[id] = now_ + kNoMove;
  SetTimer(kNoMove, TimerKind::kMoveAgain, id.index());
}

void Partition::AllowMoves(ShardIndex id) {
  if (!MayMove(id)) return;  // held up once more since
  no_move_until_.erase(id);
  MarkDirty(id);
}

bool Partition::MayMove(ShardIndex id) const {
  const auto found = no_move_until_.find(id);
  return found == no_move_until_.end() || now_ >= found->second;
}

}  // namespace shardmanager::orchestrator
