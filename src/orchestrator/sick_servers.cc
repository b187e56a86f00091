// What follows from a quarantine (quarantine.h) for shards and plans.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/defect.h"
#include "model/text.h"
#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {

// A shard that failed on other servers, too, says nothing about this one.
void Partition::NoteAddFailed(const Replica& replica, const std::string& error) {
  const Servers failed = FailedAt(replica.shard);
  const bool elsewhere = std::any_of(failed.begin(), failed.end(),
                                     [&](ServerIndex id) { return id != replica.server; });
  if (elsewhere || Planted(Defect::kTrustsSickServers)) return;
  const ServerIndex server = replica.server;
  const bool suspect = quarantine_.Failed(server, replica.shard, now_, error);
  if (!suspect) return;
  const bool others_can = MostServersAreWell() || quarantine_.OthersCan(server);
  if (!quarantine_.IsSick(server) && !others_can) return;
  quarantine_.Begin(server, now_);
  const Quarantine::Case& found = *quarantine_.Find(server);
  SetTimer(found.trial_at - now_, TimerKind::kTrial, server.index());
  AddNote(NoteKind::kServerQuarantined, server, ShardIndex(),
          absl::StrFormat("it gets nothing new, and is tried with one shard in %.0f s: %s",
                          std::chrono::duration<double>(found.trial_at - now_).count(), error));
  MarkServerDirty(server);  // what it cannot add goes elsewhere
}

// Not more than half of those that live failed to add what they tried last.
bool Partition::MostServersAreWell() const {
  size_t live = 0;
  size_t failing = 0;
  for (uint32_t i = 0; i < tables_.server_count(); ++i) {
    if (tables_.server(ServerIndex(i)).state != ServerState::kLive) continue;
    ++live;
    failing += quarantine_.IsFailing(ServerIndex(i));
  }
  return 2 * failing <= live;
}

void Partition::NoteAdded(ServerIndex server) {
  if (quarantine_.Added(server, now_)) EndQuarantine(server, "it has added a shard");
}

void Partition::EndQuarantine(ServerIndex server, const char* why) {
  AddNote(NoteKind::kQuarantineEnded, server, ShardIndex(), why);
  LookForPlaces();
}

// Servers may take what they could not take before.
void Partition::LookForPlaces() {
  at_rest_ = false;
  balance_soon_ = true;
  RetryUnplaceable();
}

// It gets nothing now: its record is larger than the store takes (record_room.cc); or it is sick,
// and waits for its trial, or the replica that it is tried with does not serve yet.
bool Partition::IsBarred(ServerIndex id) const {
  if (oversize_.Waits(id, now_)) return true;
  if (!quarantine_.IsSick(id)) return false;
  if (now_ < quarantine_.Find(id)->trial_at) return true;
  const std::vector<ReplicaIndex>& replicas = tables_.server(id).replicas;
  return std::any_of(replicas.begin(), replicas.end(),
                     [&](ReplicaIndex r) { return !tables_.replica(r).settled; });
}

// The server that had the shard before a move that failed; invalid: there is none, or it cannot
// have it. It may be draining: better there than nowhere.
ServerIndex Partition::ReturnsTo(ShardIndex id) const {
  const auto found = return_to_.find(id);
  if (found == return_to_.end() || !MayReturn(found->second)) return ServerIndex();
  return tables_.FindReplica(id, found->second).valid() ? ServerIndex() : found->second;
}

bool Partition::MayReturn(ServerIndex id) const {
  const Server& server = tables_.server(id);
  return server.state == ServerState::kLive && !TakesNothing(server) && !quarantine_.IsSick(id) &&
         !IsBarred(id) && RecordTakes(id, most_replica_bytes_);
}

// Adds to change_ the way back, once nobody has the shard any more.
void Partition::DecideReturn(ShardIndex id, Census& census) {
  const ServerIndex server = ReturnsTo(id);
  const bool free = change_.empty() && !tables_.shard(id).first.valid();
  if (!server.valid() || !free || Planted(Defect::kLeavesItWithTheSick)) return;
  change_.news.push_back(
      {server, Phase::kGranted, Cause::kPlacement, ServerIndex(), RoleOfNew(id, census)});
  ++census.healthy;
  census.primary_right |= change_.news.back().role == Role::kPrimary;
}

std::string Partition::QuarantineState(ServerIndex id, TimePoint now) const {
  const Quarantine::Case* found = quarantine_.Find(id);
  if (found == nullptr || !found->sick) return "";
  const double seconds = std::chrono::duration<double>(found->trial_at - now).count();
  return absl::StrCat(
      Counted(found->failed.size(), "different shard"), " in a row could not be added (",
      found->error, "); it keeps what it serves and gets nothing new; ",
      seconds > 0 ? absl::StrFormat("tried with one shard in %.0f s", seconds)
                  : std::string("tried with the next shard that has no better place"));
}

}  // namespace shardmanager::orchestrator
