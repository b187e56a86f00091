#include "orchestrator/core/commander.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "orchestrator/decide/backoff.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/handover.h"
#include "orchestrator/decide/keys/replacements.h"
#include "orchestrator/decide/members.h"
#include "orchestrator/decide/roles.h"
#include "orchestrator/decide/unread.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// Most shards in one command.
constexpr size_t kMaxGrantsPerCommand = 10'000;

constexpr Duration kMaxServerBackoff = Seconds(5);

}  // namespace

void Commander::Command(ShardIndex id) {
  state_.tables.ForEach(id, [&](ReplicaIndex, Replica& replica) {
    const Server& server = state_.tables.server(replica.server);
    if (replica.in_write || replica.contact != Contact::kIdle) return;
    if (server.state != ServerState::kLive || !server.reported) return;
    if (server.record_unread || server.life_unread) return;
    const auto kind = Demand(replica);
    if (!kind) return;
    if (*kind == CommandKind::kDrop &&
        (StillForwards(state_, replica) || StillMember(state_, replica))) {
      return;
    }
    Outbox command{replica.server, *kind, {replica.shard, replica.role, replica.epoch}, {}};
    if (const Replacement* origin = OriginOf(state_, id)) command.grant.made_of = origin->from;
    if (replica.phase == Phase::kDemoting) {
      command.grant.role = Role::kSecondary;
      if (ReplicaIndex next = BestSecondary(state_, id, /*in_step=*/true); next.valid()) {
        command.other = state_.tables.replica(next).server;
      }
    } else if (replica.phase == Phase::kGranted && replica.role == Role::kPrimary &&
               state_.replication.both_roles()) {
      if (!IsCurrent(state_, replica)) return;  // it came back in another life: decide/roles.h
      if (AwaitsUnreadMembers(state_) || RecordNamesFormerLife(state_, id)) return;
      command.grant.members = members_.MembersInGrant(id);
      command.grant.members_version = agenda_.NextEpoch().value();
    }
    if (*kind == CommandKind::kPrepareAdd || *kind == CommandKind::kPrepareDrop) {
      const ReplicaIndex other = OtherOf(state_, replica);
      if (!other.valid()) return;
      command.other = state_.tables.replica(other).server;
      command.grant.next_epoch = state_.tables.replica(other).epoch;
    }
    agenda_.Send(command);
    replica.contact = Contact::kAsked;
  });
  if (!state_.replication.both_roles()) return;
  if (ReplicaIndex p = PrimaryOf(state_, id); p.valid()) {
    members_.TellMembers(id, state_.tables.replica(p));
  }
}

void Commander::Flush() {
  std::vector<Outbox> commands = agenda_.TakeCommands();
  const auto rank = [](const Outbox& c) { return std::tie(c.server, c.kind, c.other); };
  std::stable_sort(commands.begin(), commands.end(),
                   [&](const Outbox& a, const Outbox& b) { return rank(a) < rank(b); });
  for (auto next = commands.begin(); next != commands.end();) {
    const Outbox& first = *next;
    SendCommands send{
        first.kind, first.server, state_.tables.server(first.server).incarnation, {}, first.other};
    while (next != commands.end() && rank(*next) == rank(first) &&
           send.grants.size() < kMaxGrantsPerCommand) {
      send.grants.push_back(std::move(next->grant));
      ++next;
    }
    agenda_.Do(std::move(send));
  }
}

void Commander::CommandFailed(ReplicaIndex id, const CommandResult& event) {
  Replica& replica = state_.tables.replica(id);
  replica.contact = Contact::kRetry;
  const auto [known, fresh] = state_.failures.troubles.try_emplace(Key(event.shard, event.server));
  Trouble& trouble = known->second;
  if (fresh) trouble.since = state_.now;
  trouble.error = event.error;
  trouble.outcome = event.outcome;
  trouble.serving_epoch = event.serving_epoch;
  if (event.outcome == CommandOutcome::kDeposed && state_.failures.overtaken.NoteLeaderBehind()) {
    agenda_.AddNote(NoteKind::kEpochsBehind, event.server, ShardIndex(),
                    absl::StrCat(kEpochsBehind, ": ", event.error));
  }
  if (IsUnreachable(event.outcome)) {
    replica.failures = 0;  // the server's timer brings it back, not its own
    ServerUnreachable(event.server);
    trouble.retry_at = retry_at_[event.server];
    return;
  }
  if (replica.failures < UINT8_MAX) ++replica.failures;
  // A failover that fails is tried again, but those that wait for room do not wait for it: there
  // may be no other server for this shard, and one for theirs.
  const bool gives_way = replica.cause == Cause::kFailover && replica.failures >= kMostFailures;
  if (gives_way) moves_.Settle(id);
  trouble.retry_at = state_.now + Backoff(replica.failures);
  agenda_.AddNote(NoteKind::kCommandFailed, event.server, event.shard, event.error);
  agenda_.SetTimer(Backoff(replica.failures), TimerKind::kShardRetry, event.shard.index());
  const bool comes = replica.phase == Phase::kGranted || replica.phase == Phase::kPreparing;
  if (comes && event.outcome == CommandOutcome::kFailed) {
    sick_servers_.NoteAddFailed(replica, event.error);
  }
  if (IsOvertaken(state_, replica) &&
      state_.failures.overtaken.NoteOvertaken(event.shard, state_.now)) {
    agenda_.AddNote(NoteKind::kEpochsBehind, event.server, event.shard,
                    absl::StrCat(kEpochsBehind, ": ", event.error));
  }
  failed_shards_.NotePoison(id);
  agenda_.MarkDirty(event.shard);  // a handover may be called off, or the shard goes elsewhere
}

// One timer for all of a server's commands that did not get through.
void Commander::ServerUnreachable(ServerIndex id) {
  Server& server = state_.tables.server(id);
  if (std::exchange(server.retry_timer, true)) return;
  ++server.unreachable;
  const Duration delay = std::min<Duration>(Backoff(server.unreachable), kMaxServerBackoff);
  retry_at_[id] = state_.now + delay;
  agenda_.SetTimer(delay, TimerKind::kServerRetry, id.index());
}

void Commander::GotThrough(ServerIndex id) { state_.tables.server(id).unreachable = 0; }

void Commander::RetryServer(ServerIndex id) {
  Server& server = state_.tables.server(id);
  server.retry_timer = false;
  retry_at_.erase(id);
  for (ReplicaIndex r : server.replicas) {
    Replica& replica = state_.tables.replica(r);
    if (replica.contact != Contact::kRetry || replica.failures > 0) continue;
    replica.contact = Contact::kIdle;
    agenda_.MarkDirty(replica.shard);
  }
}

void Commander::RetryShard(ShardIndex id) {
  state_.tables.ForEach(id, [&](ReplicaIndex, Replica& replica) {
    if (replica.contact != Contact::kRetry) return;
    if (!IsCalledOff(state_, replica)) {
      replica.contact = Contact::kIdle;
      return;
    }
    // It is not asked again while the end of the move is being written. But nothing may come of
    // that: the new owner may be lost before.
    agenda_.SetTimer(Backoff(replica.failures), TimerKind::kShardRetry, id.index());
  });
  agenda_.MarkDirty(id);
}

void Commander::AddDone(ReplicaIndex id) {
  const Replica& replica = state_.tables.replica(id);
  ++state_.tables.server(replica.server).serving;
  if (!state_.failures.troubles.empty()) {
    state_.failures.troubles.erase(Key(replica.shard, replica.server));
  }
  if (!state_.progress.empty()) state_.progress.erase(Key(replica.shard, replica.server));
  agenda_.MarkPublish(replica.shard);
  if (replica.role == Role::kPrimary && !state_.switchovers.stand_in.empty()) {
    state_.switchovers.stand_in.erase(replica.shard);
  }
  if (state_.replication.both_roles()) agenda_.MarkDirty(replica.shard);
  Shard& shard = state_.tables.shard(replica.shard);
  if (replica.role == Role::kPrimary) shard.began = shard.wanted > 0;
  failed_shards_.ForgetPoison(replica.shard);
  state_.failures.overtaken.Served(replica.shard);
  if (!state_.failures.return_to.empty()) state_.failures.return_to.erase(replica.shard);
  // (One that moved here before, and is granted anew, proves nothing about the next move.)
  if (IsMove(replica.cause) && !replica.settled) {
    state_.failures.holds.Forget(replica.shard);
    NoteMoved(replica);
  }
  moves_.Settle(id);
}

void Commander::NoteMoved(const Replica& replica) {
  const auto begun = state_.moves.begun.find(replica.shard);
  if (begun == state_.moves.begun.end() || begun->second.serves) return;
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(state_.now - begun->second.at);
  agenda_.AddNote(NoteKind::kMoveFinished, replica.server, replica.shard,
                  absl::StrCat("from ", state_.tables.name(replica.origin), ": it serves, ",
                               took.count(), " ms after the move was planned"),
                  begun->second.operation);
  // What is left of the move: the old replica is to be dropped.
  begun->second.serves = state_.tables.FindReplica(replica.shard, replica.origin).valid();
  if (!begun->second.serves) state_.moves.begun.erase(begun);
}

void Commander::On(CommandResult& event) {
  Server& server = state_.tables.server(event.server);
  if (server.state != ServerState::kLive || server.incarnation != event.incarnation) return;
  if (!IsUnreachable(event.outcome)) GotThrough(event.server);
  if (event.kind == CommandKind::kSetMembers) return members_.OnMembers(event);
  const ReplicaIndex id = state_.tables.FindReplica(event.shard, event.server);
  if (!id.valid()) return;
  Replica& replica = state_.tables.replica(id);
  const bool current = Demand(replica) == event.kind && replica.epoch == event.epoch;
  if (!current || replica.contact != Contact::kAsked) return;

  switch (event.outcome) {
    case CommandOutcome::kLoading:
      // (0 says nothing: applications need not tell how far they are, and in PrepareAddShard
      // cannot.)
      if (event.progress > 0) {
        state_.progress[Key(event.shard, event.server)] =
            static_cast<uint8_t>(event.progress * 100);
      }
      return;
    case CommandOutcome::kDone: {
      // What served before may only have said yes to a repeat.
      const bool loaded =
          event.kind == CommandKind::kAdd && (!replica.settled || replica.failures > 0);
      const bool heals = event.kind == CommandKind::kAdd &&
                         (replica.failures > 0 || state_.failures.failed_at.contains(event.shard));
      replica.contact = Contact::kDone;
      replica.failures = 0;
      if (replica.phase == Phase::kGranted) {
        replica.told_since = server.reports_out > 0;
        AddDone(id);
        if (heals) {
          agenda_.AddNote(NoteKind::kShardServing, event.server, event.shard,
                          "it could not be added before, and is now");
        }
        if (loaded) sick_servers_.NoteAdded(event.server);
      }
      // A lone replica at rest needs no second look.
      if (event.kind != CommandKind::kAdd || replica.next.valid() ||
          state_.tables.shard(event.shard).first != id) {
        agenda_.MarkDirty(event.shard);
      }
      return;
    }
    case CommandOutcome::kFailed:
    case CommandOutcome::kStale:
    case CommandOutcome::kCalledOff:
    case CommandOutcome::kUnreachable:
    case CommandOutcome::kDeposed:
      CommandFailed(id, event);
      return;
  }
}

void Commander::On(RetryAsked& event) {
  const ShardIndex id = state_.tables.FindShard(event.shard);
  if (!id.valid()) return;
  state_.tables.ForEach(id, [&](ReplicaIndex, Replica& replica) {
    if (replica.contact == Contact::kRetry && !IsCalledOff(state_, replica)) replica.failures = 0;
  });
  RetryShard(id);
  failed_shards_.ForgetAll(id);
  members_.RetryAll(id);
  state_.missing.Retry(id);
  agenda_.RetryUnplaceable();
  agenda_.LookAtBalance();
  agenda_.AddNote(NoteKind::kRetryAsked, ServerIndex(), id);
}

void Commander::On(LaterLeaderSeen& event) {
  if (!state_.failures.overtaken.NoteLeaderBehind()) return;
  agenda_.AddNote(NoteKind::kEpochsBehind, ServerIndex(), ShardIndex(),
                  absl::StrCat(kEpochsBehind, ": ", event.where));
}

}  // namespace shardmanager::orchestrator
