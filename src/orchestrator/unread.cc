// Servers whose assignment record cannot be read (decision 0010). What such a record
// grants is unknown, so:
//   * it is never written: Touch() ends the process first;
//   * the server gets nothing, loses nothing and is commanded nothing;
//   * a primary shard that nobody else had the right to serve when the records were read
//     may be there: nothing is decided about it. Nobody but we write records, so what is
//     in the one that cannot be read does not change meanwhile.
// It ends when the record can be read, or is released (release.h): the state is then read
// back from the start. Secondaries are not held back: one copy too many harms nobody.
//
// But the record may say that a secondary is in step with its primary, and what it says counts
// again once it can be read. So primaries go on counting on each secondary that the server reports
// in its present life, and no primary is told of members before every such server has reported.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {

// Where it is known who had the right to serve a shard when the records were read: one party
// alone of a move does not tell, as the other one may have it by now.
void Partition::NoteRights() {
  if (unread_.empty()) return;
  for (uint32_t i = 0; i < tables_.shard_count(); ++i) {
    uint32_t seen = 0;  // a bit for each phase
    tables_.ForEach(ShardIndex(i), [&](ReplicaIndex, const Replica& replica) {
      if (replica.role == Role::kPrimary) seen |= 1U << static_cast<uint32_t>(replica.phase);
    });
    const auto has = [seen](Phase phase) {
      return (seen >> static_cast<uint32_t>(phase) & 1) != 0;
    };
    tables_.shard(ShardIndex(i)).right_seen = has(Phase::kGranted) ||
                                              (has(Phase::kDropping) && has(Phase::kReserved)) ||
                                              (has(Phase::kForwarding) && has(Phase::kPreparing));
  }
}

bool Partition::HeldBack(ShardIndex shard) const {
  if (unread_.empty()) return false;
  if (AwaitsUnreadMembers()) return true;
  if (HasPrimaries() && !tables_.shard(shard).right_seen) return true;
  bool adopted = false;
  tables_.ForEach(shard, [&](ReplicaIndex, const Replica& replica) {
    adopted |= tables_.server(replica.server).record_unread;
  });
  return adopted;
}

std::string Partition::UnreadServers() const {
  constexpr size_t kMostNamed = 5;
  std::vector<std::string> names;
  for (ServerIndex id : unread_) {
    if (names.size() < kMostNamed) names.push_back(tables_.name(id));
  }
  std::string text = absl::StrJoin(names, " or ");
  if (unread_.size() > kMostNamed) {
    absl::StrAppend(&text, " or ", unread_.size() - kMostNamed, " others");
  }
  return absl::StrCat(text, ", whose assignment record cannot be read");
}

std::string Partition::WhyHeldBack(ShardIndex shard) const {
  if (!HasPrimaries() || !tables_.shard(shard).right_seen || !AwaitsUnreadMembers()) {
    return absl::StrCat("it may be on ", UnreadServers(),
                        ": until that is mended or released, nobody else gets it");
  }
  return absl::StrCat("a secondary that is in step may be on ", UnreadServers(),
                      ": until every one of these servers has reported what it holds, nobody is "
                      "promoted and the members stay as they are");
}

bool Partition::TakesNothing(const Server& server) const {
  return server.record_unread || server.life_unread;
}

// A live server says what it serves. That is no proof of what its record says, but enough
// to let clients find it: it serves under its own lease.
void Partition::AdoptReported(const ServerReport& report) {
  UnreadMembers::Shards secondaries;
  for (const HeldReplica& held : report.held) {
    if (!held.serving) continue;
    const ShardIndex shard = tables_.InternShard(held.shard);
    if (held.role == Role::kSecondary) {
      secondaries.insert(shard);  // also if the spec does not name the shard now: it may again
      continue;
    }
    if (tables_.shard(shard).map_index == Shard::kNotInMap || !HeldBack(shard)) continue;
    if (tables_.FindReplica(shard, report.server).valid()) continue;
    Replica& replica =
        tables_.replica(tables_.AddReplica(shard, report.server, Role::kPrimary, held.epoch));
    replica.phase = Phase::kGranted;
    replica.settled = true;
  }
  SetUnreadMembers({report.server, report.incarnation}, secondaries);
}

void Partition::SetUnreadMembers(const Membership::Member& server,
                                 const UnreadMembers::Shards& shards) {
  const bool awaited = AwaitsUnreadMembers();
  for (ShardIndex shard : unread_members_.Report(server, shards)) MarkDirty(shard);
  if (awaited && !AwaitsUnreadMembers()) MarkAllDirty();
}

void Partition::MarkAllDirty() {
  for (uint32_t i = 0; i < tables_.shard_count(); ++i) MarkDirty(ShardIndex(i));
}

bool Partition::AwaitsUnreadMembers() const {
  return HasBothRoles() && unread_members_.awaits_reports();
}

}  // namespace shardmanager::orchestrator
