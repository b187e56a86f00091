#include "orchestrator/core/member_teller.h"

#include <algorithm>

#include "orchestrator/decide/backoff.h"
#include "orchestrator/decide/members.h"
#include "orchestrator/decide/unread.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

template <typename List>
std::vector<ServerIndex> ServersOf(const List& list) {
  std::vector<ServerIndex> servers;
  for (const auto& member : list) servers.push_back(member.server);
  return servers;
}

}  // namespace

std::vector<ServerIndex> MemberTeller::MembersInGrant(ShardIndex id) {
  ForgetMembers(id);
  return ServersOf(MembersOf(state_, id, {}));
}

void MemberTeller::TellMembers(ShardIndex id, const Replica& primary) {
  if (state_.tables.shard(id).in_batch || TakesNothing(state_.tables.server(primary.server))) {
    return;
  }
  if (AwaitsUnreadMembers(state_) || RecordNamesFormerLife(state_, id)) return;
  if (!IsCurrent(state_, primary)) return;
  ToldMembers& membership = state_.members[id];
  if (membership.epoch != primary.epoch) membership = ToldMembers{.epoch = primary.epoch};
  if (membership.contact != Contact::kIdle) return;
  const MemberList told = membership.known ? membership.told : MemberList();
  MemberList list = MembersOf(state_, id, told);
  const bool settled = membership.known && told == MembersOf(state_, id, {});
  membership.candidate = settled ? NextMember(state_, id, membership) : std::nullopt;
  if (membership.candidate) {
    list.insert(std::lower_bound(list.begin(), list.end(), *membership.candidate),
                *membership.candidate);
    membership.tried_last = membership.candidate;
  }
  if (membership.known && told == list) return;
  Outbox command{primary.server, CommandKind::kSetMembers, {id, Role::kPrimary, primary.epoch}, {}};
  command.grant.members = ServersOf(list);
  command.grant.members_version = agenda_.NextEpoch().value();
  membership.asked = std::move(list);
  membership.contact = Contact::kAsked;
  agenda_.Send(std::move(command));
}

void MemberTeller::OnMembers(const CommandResult& event) {
  const auto found = state_.members.find(event.shard);
  if (found == state_.members.end()) return;
  ToldMembers& membership = found->second;
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
      state_.failures.holds.PairWorks(event.server, membership.candidate->server);
    }
    agenda_.MarkDirty(event.shard);
    return;
  }
  membership.contact = Contact::kRetry;
  membership.known = false;  // the primary may go by the old list or by the new one
  membership.error = event.error;
  agenda_.AddNote(NoteKind::kCommandFailed, event.server, event.shard, event.error);
  // Only what the application says is the candidate's fault. A command may also go unanswered or
  // be overtaken: the server was busy with other shards, or the shard was about to be demoted.
  if (membership.candidate && event.outcome == CommandOutcome::kFailed) {
    CandidateFailed(event.shard, membership);
    membership.failures = 0;
  }
  if (membership.failures < UINT8_MAX) ++membership.failures;
  agenda_.SetTimer(Backoff(membership.failures), TimerKind::kMembersRetry, event.shard.index());
}

// The primary goes on with the members that it had; the candidate is tried again later.
void MemberTeller::CandidateFailed(ShardIndex id, ToldMembers& membership) {
  const Member candidate = *membership.candidate;
  const ToldMembers::Failed* before = membership.FindFailed(candidate);
  const uint8_t failures = before == nullptr ? 0 : before->failures;
  ToldMembers::Failed failed{.member = candidate,
                             .failures = static_cast<uint8_t>(std::min(failures + 1, UINT8_MAX)),
                             .error = membership.error};
  const Duration delay = Backoff(failed.failures);
  failed.retry_at = state_.now + delay;
  membership.Forgive(candidate.server);
  membership.failed.push_back(std::move(failed));
  agenda_.SetTimer(delay, TimerKind::kMembersRetry, id.index());
}

void MemberTeller::RetryMembers(ShardIndex id) {
  const auto found = state_.members.find(id);
  if (found == state_.members.end()) return;
  if (found->second.contact == Contact::kRetry) found->second.contact = Contact::kIdle;
  agenda_.MarkDirty(id);
}

void MemberTeller::RetryAll(ShardIndex id) {
  const auto found = state_.members.find(id);
  if (found != state_.members.end()) found->second.failed.clear();
  RetryMembers(id);
}

void MemberTeller::ForgetMembers(ShardIndex id) { state_.members.erase(id); }

}  // namespace shardmanager::orchestrator
