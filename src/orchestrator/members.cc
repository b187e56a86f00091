// Who is in step with a shard's primary, and so can become the primary (decision 0013).
//
// A replica is a member once its server's life stands in its record (member_life). What the
// primary acknowledges, all members have (with `quorum`: most of them), because
//   * one that comes is written down as a member only after the primary has said that it
//     goes by it;
//   * one that goes is first written down as none, and then the primary is told;
//   * one at a time: the primary is told of the next one when the last one is written down.
// A server in a new life is no member: it may have lost what it knew. (With `quorum` it
// stays one until it is replaced: the application's log is its memory.)
#include <algorithm>

#include "base/defect.h"
#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {

// The one that has the right to serve and does; invalid: there is none now.
ReplicaIndex Partition::PrimaryOf(ShardIndex id) const {
  ReplicaIndex primary;
  tables_.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    const bool serves = replica.role == Role::kPrimary && Serves(replica);
    if (serves && !replica.in_write) primary = r;
  });
  return primary;
}

bool Partition::Has(const Membership::List& list, const Membership::Member& member) {
  return std::binary_search(list.begin(), list.end(), member);
}

// Adds to change_ who is not a member any more, and who has become one.
void Partition::DecideMembers(ShardIndex id, ReplicaIndex primary) {
  const Membership* membership = nullptr;
  if (const auto found = members_.find(id); found != members_.end()) membership = &found->second;
  const bool told = membership != nullptr && membership->known &&
                    membership->contact != Contact::kAsked &&
                    membership->epoch == tables_.replica(primary).epoch;
  tables_.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (replica.phase != Phase::kGranted || r == primary) return;
    const Server& server = tables_.server(replica.server);
    const bool member = replica.member_life != 0;
    const bool left = IsGone(server) || !IsCurrent(replica);
    if (member && left && !spec_.replication().quorum()) {
      change_.phases.push_back({r, Phase::kGranted, Turn::kNone, 0});
    }
    if (member || !told || !Serves(replica)) return;
    if (!Has(membership->told, {replica.server, server.incarnation})) return;
    change_.phases.push_back({r, Phase::kGranted, Turn::kNone, LifeOf(server)});
  });
}

// As written down, and who of `told` is about to be; `with_next`: and one more, that could be
// brought into step.
Membership::List Partition::MembersOf(ShardIndex id, const Membership::List& told,
                                      bool with_next) const {
  Membership::List list;
  ReplicaIndex next;
  tables_.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (replica.phase != Phase::kGranted && replica.phase != Phase::kDemoting) return;
    const Server& server = tables_.server(replica.server);
    const Membership::Member me{replica.server, server.incarnation};
    const bool comes = replica.member_life == 0 && Serves(replica) && Has(told, me);
    if (replica.role == Role::kPrimary || IsCurrent(replica) || comes) {
      list.push_back(me);
    } else if (replica.member_life == 0 && Serves(replica)) {
      const bool first = !next.valid() || replica.server < tables_.replica(next).server;
      if (first) next = r;
    }
  });
  if (with_next && next.valid() && (!spec_.replication().quorum() || HasMajority(id))) {
    const ServerIndex server = tables_.replica(next).server;
    list.push_back({server, tables_.server(server).incarnation});
  }
  std::sort(list.begin(), list.end());
  return list;
}

namespace {

template <typename List>
std::vector<ServerIndex> ServersOf(const List& list) {
  std::vector<ServerIndex> servers;
  for (const auto& member : list) servers.push_back(member.server);
  return servers;
}

}  // namespace

// With a grant to the primary: it serves when it goes by them, or by those of an earlier grant
// of the same epoch, whose answer was lost or came to another leader. So its yes says nothing
// about them, and TellMembers follows.
std::vector<ServerIndex> Partition::MembersInGrant(ShardIndex id) {
  ForgetMembers(id);
  return ServersOf(MembersOf(id, {}, /*with_next=*/false));
}

// Tells a primary that serves what has changed.
void Partition::TellMembers(ShardIndex id, const Replica& primary) {
  if (tables_.shard(id).in_batch || TakesNothing(tables_.server(primary.server))) return;
  if (!IsCurrent(primary)) return;
  Membership& membership = members_[id];
  if (membership.epoch != primary.epoch) membership = Membership{.epoch = primary.epoch};
  if (membership.contact != Contact::kIdle) return;
  const Membership::List told = membership.known ? membership.told : Membership::List();
  Membership::List list = MembersOf(id, told, /*with_next=*/false);
  const bool settled = membership.known && told == MembersOf(id, {}, /*with_next=*/false);
  if (settled) list = MembersOf(id, {}, /*with_next=*/true);
  if (membership.known && told == list) return;
  Outbox command{primary.server, CommandKind::kSetMembers, {id, Role::kPrimary, primary.epoch}, {}};
  command.grant.members = ServersOf(list);
  command.grant.members_version = NextEpoch().value();
  membership.asked = std::move(list);
  membership.contact = Contact::kAsked;
  outbox_.push_back(std::move(command));
}

void Partition::OnMembers(const CommandResult& event) {
  const auto found = members_.find(event.shard);
  if (found == members_.end()) return;
  Membership& membership = found->second;
  if (membership.epoch != event.epoch || membership.contact != Contact::kAsked) return;
  if (event.outcome == CommandOutcome::kLoading) return;
  if (event.outcome == CommandOutcome::kDone) {
    membership.contact = Contact::kIdle;
    membership.failures = 0;
    membership.error.clear();
    membership.told = membership.asked;
    membership.known = true;
    MarkDirty(event.shard);
    return;
  }
  membership.contact = Contact::kRetry;
  membership.known = false;  // what it goes by now is anybody's guess
  membership.error = event.error;
  if (membership.failures < UINT8_MAX) ++membership.failures;
  AddNote(NoteKind::kCommandFailed, event.server, event.shard, event.error);
  SetTimer(Backoff(membership.failures), TimerKind::kMembersRetry, event.shard.index());
}

void Partition::RetryMembers(ShardIndex id) {
  const auto found = members_.find(id);
  if (found == members_.end()) return;
  if (found->second.contact == Contact::kRetry) found->second.contact = Contact::kIdle;
  MarkDirty(id);
}

// It is to be dropped, but the primary may still count on it.
bool Partition::StillMember(const Replica& replica) const {
  const Shard& shard = tables_.shard(replica.shard);
  const bool leaves = replica.phase == Phase::kDropping && replica.role == Role::kSecondary;
  if (!HasBothRoles() || !leaves || shard.wanted == 0) return false;
  const ReplicaIndex primary = PrimaryOf(replica.shard);
  if (!primary.valid()) return false;
  const auto found = members_.find(replica.shard);
  if (found == members_.end() || !found->second.known) return true;
  const Membership::List& told = found->second.told;
  return std::any_of(told.begin(), told.end(), [&](const Membership::Member& member) {
    return member.server == replica.server;
  });
}

// May its record end, or say that it goes? With `quorum`, of what was acknowledged a member may
// have what few others have: so one goes at a time, most of them serve, and their primary goes
// by exactly those that are written down. Then of any two majorities, before and after, one
// member is in both.
bool Partition::MayLeave(const Replica& replica) const {
  const bool counts = HasBothRoles() && spec_.replication().quorum() && replica.member_life != 0;
  if (!counts || Planted(Defect::kForgetsMembers)) return true;
  const bool another =
      std::any_of(change_.phases.begin(), change_.phases.end(), [&](const PhaseChange& change) {
        const bool ends = change.to == Phase::kAbsent || change.to == Phase::kDropping;
        return ends && tables_.replica(change.replica).member_life != 0;
      });
  const ReplicaIndex primary = PrimaryOf(replica.shard);
  if (another || !primary.valid() || !HasMajority(replica.shard)) return false;
  const auto found = members_.find(replica.shard);
  if (found == members_.end()) return false;
  const Membership& membership = found->second;
  return membership.known && membership.contact == Contact::kIdle &&
         membership.epoch == tables_.replica(primary).epoch &&
         membership.told == MembersOf(replica.shard, {}, /*with_next=*/false);
}

void Partition::ForgetMembers(ShardIndex id) {
  if (!members_.empty()) members_.erase(id);
}

}  // namespace shardmanager::orchestrator
