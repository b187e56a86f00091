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
#include <tuple>

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
    change_.phases.push_back({r, Phase::kGranted, Turn::kNone, server.life()});
  });
}

// The members as stored, and those of `told` that are about to be stored.
Membership::List Partition::MembersOf(ShardIndex id, const Membership::List& told) const {
  Membership::List list;
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    if (replica.phase != Phase::kGranted && replica.phase != Phase::kDemoting) return;
    const Membership::Member me{replica.server, tables_.server(replica.server).incarnation};
    const bool comes = replica.member_life == 0 && Serves(replica) && Has(told, me);
    if (replica.role == Role::kPrimary || IsCurrent(replica) || comes) list.push_back(me);
  });
  for (const Membership::Member& member : unread_members_.Of(id)) list.push_back(member);
  std::sort(list.begin(), list.end());
  return list;
}

// The next secondary to bring into step: of those that may be tried now, the one that failed
// least; of equals, not the one that was tried last. Thus one that can never come into step, or of
// which nothing is ever heard, does not keep the others from it.
std::optional<Membership::Member> Partition::NextMember(ShardIndex id,
                                                        const Membership& membership) const {
  if (spec_.replication().quorum() && !HasMajority(id)) return std::nullopt;
  const bool fair = !Planted(Defect::kStarvesMembers);
  std::optional<std::tuple<uint8_t, bool, Membership::Member>> next;
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const bool lacks = replica.phase == Phase::kGranted && replica.role == Role::kSecondary &&
                       replica.member_life == 0 && Serves(replica) && !IsCurrent(replica);
    if (!lacks) return;
    const Membership::Member me{replica.server, tables_.server(replica.server).incarnation};
    const Membership::Failed* failed = membership.FindFailed(me);
    if (fair && failed != nullptr && now_ < failed->retry_at) return;
    const uint8_t failures = fair && failed != nullptr ? failed->failures : uint8_t{0};
    const std::tuple rank(failures, fair && me == membership.tried_last, me);
    if (!next || rank < *next) next = rank;
  });
  if (!next) return std::nullopt;
  return std::get<Membership::Member>(*next);
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
  return ServersOf(MembersOf(id, {}));
}

// Tells a primary that serves what has changed.
void Partition::TellMembers(ShardIndex id, const Replica& primary) {
  if (tables_.shard(id).in_batch || TakesNothing(tables_.server(primary.server))) return;
  if (AwaitsUnreadMembers()) return;
  if (!IsCurrent(primary)) return;
  Membership& membership = members_[id];
  if (membership.epoch != primary.epoch) membership = Membership{.epoch = primary.epoch};
  if (membership.contact != Contact::kIdle) return;
  const Membership::List told = membership.known ? membership.told : Membership::List();
  Membership::List list = MembersOf(id, told);
  const bool settled = membership.known && told == MembersOf(id, {});
  membership.candidate = settled ? NextMember(id, membership) : std::nullopt;
  if (membership.candidate) {
    list.insert(std::lower_bound(list.begin(), list.end(), *membership.candidate),
                *membership.candidate);
    membership.tried_last = membership.candidate;
  }
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
    if (membership.candidate) {
      membership.Forgive(membership.candidate->server);
      move_holds_.PairWorks(event.server, membership.candidate->server);
    }
    MarkDirty(event.shard);
    return;
  }
  membership.contact = Contact::kRetry;
  membership.known = false;  // the primary may go by the old list or by the new one
  membership.error = event.error;
  AddNote(NoteKind::kCommandFailed, event.server, event.shard, event.error);
  // Only what the application says is the candidate's fault. A command may also go unanswered or
  // be overtaken: the server was busy with other shards, or the shard was about to be demoted.
  if (membership.candidate && event.outcome == CommandOutcome::kFailed) {
    CandidateFailed(event.shard, membership);
    membership.failures = 0;
  }
  if (membership.failures < UINT8_MAX) ++membership.failures;
  SetTimer(Backoff(membership.failures), TimerKind::kMembersRetry, event.shard.index());
}

// The primary goes on with the members that it had; the candidate is tried again later.
void Partition::CandidateFailed(ShardIndex id, Membership& membership) {
  const Membership::Member candidate = *membership.candidate;
  const Membership::Failed* before = membership.FindFailed(candidate);
  const uint8_t failures = before == nullptr ? 0 : before->failures;
  Membership::Failed failed{.member = candidate,
                            .failures = static_cast<uint8_t>(std::min(failures + 1, UINT8_MAX)),
                            .error = membership.error};
  const Duration delay = Backoff(failed.failures);
  failed.retry_at = now_ + delay;
  membership.Forgive(candidate.server);
  membership.failed.push_back(std::move(failed));
  SetTimer(delay, TimerKind::kMembersRetry, id.index());
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
         membership.told == MembersOf(replica.shard, {});
}

void Partition::ForgetMembers(ShardIndex id) {
  if (!members_.empty()) members_.erase(id);
}

}  // namespace shardmanager::orchestrator
