#include "orchestrator/core/batch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "orchestrator/decide/handover.h"
#include "orchestrator/decide/next_step.h"
#include "orchestrator/decide/rights.h"
#include "orchestrator/decide/view.h"
#include "orchestrator/describe/servers.h"
#include "orchestrator/state/record_size.h"

namespace shardmanager::orchestrator {
namespace {

// A batch is one multi, and a server's whole record is rewritten with each change of it: a batch
// takes no more than this if it need not, lest the store be busy with one batch for long.
constexpr size_t kUsualBatchBytes = 600'000;
// A record that alone is as large takes so much of changes along, as far as they fit, lest a large
// server's shards be written one by one.
constexpr size_t kLeastChangeBytes = 100'000;

// How many shards that do not fit may be passed over for others that do.
constexpr size_t kMaxPassedOver = 10'000;

constexpr Duration kWriteRetryDelay = Milliseconds(100);

// Most bytes of a batch whose first change takes `first`. One that is too large by itself may fit
// when it is compressed: it is tried, alone.
size_t LimitOf(size_t first) {
  if (first > kMostBatchBytes) return first;
  return std::max(kUsualBatchBytes, std::min(first + kLeastChangeBytes, kMostBatchBytes));
}

// The primary is back in another life, and nobody who was in step with the former one is left.
// (With a quorum the application's log outlives its process.)
bool BeginsAnew(const PartitionState& state, const Replica& primary, const NextGrant& next) {
  if (primary.role != Role::kPrimary || next.role != Role::kPrimary) return false;
  if (primary.member_life == 0 || next.member_life == 0) return false;
  return primary.member_life != next.member_life && !state.replication.quorum;
}

// Whoever has the role, serving or not, where the roles matter for loads; invalid: nobody has.
ReplicaIndex PrimaryWithLoad(const PartitionState& state, ShardIndex id) {
  ReplicaIndex primary;
  if (!state.replication.both_roles() || state.loads.metrics.empty()) return primary;
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (replica.role == Role::kPrimary && replica.phase != Phase::kAbsent) primary = r;
  });
  return primary;
}

}  // namespace

void Batch::Form() {
  if (state_.writes.out || state_.writes.blocked || state_.writes.queue.empty()) return;
  ++number_;
  shards_.clear();
  servers_.clear();
  size_t bytes = 0;
  size_t limit = kUsualBatchBytes;
  // What does not fit waits for the next batch, but the rest of the queue is looked
  // through: a shard whose servers' records are rewritten anyway costs next to
  // nothing. Without that, a lost server whose shards go to all others in turn would
  // fill a batch with one shard of each.
  std::vector<ShardIndex> passed_over;
  while (!state_.writes.queue.empty() && bytes < limit && passed_over.size() < kMaxPassedOver) {
    const ShardIndex id = state_.writes.queue.front();
    state_.writes.queue.pop_front();
    // Again: things may have changed since it was queued.
    const Change change = looks_.Decide(id);
    if (AwaitsRecord(state_, change)) {  // its timer brings the shard back
      state_.tables.shard(id).waits_for_write = false;
      continue;
    }
    const size_t cost = CostOf(change);
    if (shards_.empty()) limit = LimitOf(cost);
    if (bytes + cost > limit) {
      passed_over.push_back(id);
      continue;
    }
    state_.tables.shard(id).waits_for_write = false;
    if (change.empty()) {
      looks_.Look(id);
      continue;
    }
    bytes += cost;
    Stage(id, change);
  }
  state_.writes.queue.insert(state_.writes.queue.begin(), passed_over.begin(), passed_over.end());
  if (!shards_.empty()) Send();
}

// Bytes that the change adds to the batch, at most.
size_t Batch::CostOf(const Change& change) const {
  size_t bytes = 0;
  const auto add_record = [&](ServerIndex id) {
    const Server& server = state_.tables.server(id);
    if (server.batch == number_) return;
    const std::string& name = state_.tables.name(id);
    bytes += EmptyRecordBytes(state_.spec.name(), name) + server.record_bytes;
    if (server.state != ServerState::kLive) bytes += CheckBytes(state_.spec.name(), name);
  };
  for (const PhaseChange& c : change.phases) add_record(state_.tables.replica(c.replica).server);
  for (const NewReplica& fresh : change.news) {
    add_record(fresh.server);
    bytes += state_.records.most_replica_bytes;
  }
  return bytes;
}

void Batch::Stage(ShardIndex id, const Change& change) {
  CheckRights(state_, id, change);
  Enlist(id);
  for (const PhaseChange& c : change.phases) {
    Enlist(state_.tables.replica(c.replica).shard);
    StageChange(c);
  }
  for (const NewReplica& fresh : change.news) {
    const ShardIndex shard = fresh.shard.valid() ? fresh.shard : id;
    Enlist(shard);
    StageNew(shard, change, fresh);
  }
}

// (More than one in a change only where shards are replaced.)
void Batch::Enlist(ShardIndex id) {
  Shard& shard = state_.tables.shard(id);
  if (std::exchange(shard.in_batch, true)) return;
  shard.missing = false;
  state_.missing.Release(id);
  state_.moves.intents.erase(id);
  shards_.push_back(id);
}

void Batch::StageChange(const PhaseChange& change) {
  Replica& replica = state_.tables.replica(change.replica);
  replica.in_write = true;
  replica.writing = change.to;
  Touch(replica.server);
  if (change.failed && replica.phase == Phase::kPreparing) {
    failed_shards_.HoldMoves(replica.shard, replica.server);
  }
  if (change.failed && replica.phase == Phase::kGranted) failed_shards_.NoteFailedAt(replica);
  if (change.failed && change.to == Phase::kGranted) {
    failed_shards_.HoldMoves(replica.shard, ServerIndex());
  }
  if (change.overtaken) state_.failures.overtaken.GrantedAnew(replica.shard, state_.now);
  const bool leaves = change.to == Phase::kDropping && replica.member_life != 0;
  const bool called_off = replica.phase == Phase::kDemoting && change.to == Phase::kGranted &&
                          change.role_change == RoleChange::kNone;
  const ShardEpoch kept = called_off ? ServesOnUnder(state_, replica) : ShardEpoch();
  const bool granted_anew =
      change.role_change == RoleChange::kPromote || change.to == Phase::kDemoting ||
      (called_off && kept == ShardEpoch()) ||
      (change.role_change == RoleChange::kDemote && replica.phase == Phase::kGranted);
  if (!granted_anew && !called_off && change.role_change == RoleChange::kNone &&
      !change.member_life && !leaves) {
    return;
  }
  NextGrant next{replica.role, replica.epoch, change.member_life.value_or(replica.member_life)};
  if (leaves) next.member_life = 0;
  if (change.to == Phase::kDemoting) switchovers_.Begin(replica.shard);
  if (change.role_change != RoleChange::kNone) {
    next.role = change.role_change == RoleChange::kPromote ? Role::kPrimary : Role::kSecondary;
  }
  if (granted_anew) next.epoch = agenda_.NextEpoch();
  if (kept != ShardEpoch()) {
    next.epoch = kept;
    next.serves_on = true;
  }
  next_grants_[change.replica] = next;
}

// What changed besides the phase. True: what the server has said of it holds on.
bool Batch::ApplyNextGrant(ReplicaIndex id, Phase before) {
  const auto found = next_grants_.find(id);
  if (found == next_grants_.end()) return false;
  const NextGrant next = found->second;
  next_grants_.erase(found);
  Replica& replica = state_.tables.replica(id);
  const bool granted_anew = replica.epoch != next.epoch && !next.serves_on;
  const bool demoted = replica.role == Role::kPrimary && next.role == Role::kSecondary;
  const bool begins_anew = BeginsAnew(state_, replica, next);
  if (demoted || replica.phase == Phase::kDemoting) members_.ForgetMembers(replica.shard);
  state_.tables.SetRole(id, next.role);
  replica.epoch = next.epoch;
  replica.member_life = next.member_life;
  if (demoted && before == Phase::kDemoting) {
    state_.switchovers.stand_in[replica.shard] = replica.server;
    state_.switchovers.sent_to[replica.shard] = replica.server;
    if (!state_.switchovers.under_way.contains(replica.shard)) {
      switchovers_.BeginPause(replica.shard);  // a former leader began it
    }
    state_.failures.holds.LetGo(replica.shard);
  }
  if (begins_anew) {
    agenda_.AddNote(
        NoteKind::kUncleanPromotion, replica.server, replica.shard,
        "its process began anew, and no replica in step is left: unless it finds everything on "
        "disk, it lacks what was acknowledged");
  }
  if (granted_anew) replica.role_changed = true;
  if (granted_anew && next.role == Role::kPrimary && replica.phase == Phase::kGranted) {
    agenda_.AddNote(NoteKind::kPrimaryElected, replica.server, replica.shard,
                    absl::StrCat("epoch ", next.epoch.value()));
    replica.lacking = !IsCurrent(state_, replica);
    if (replica.lacking) {
      agenda_.AddNote(NoteKind::kUncleanPromotion, replica.server, replica.shard,
                      "no replica in step is left: it may lack what was acknowledged last");
    }
  }
  return !granted_anew && !next.serves_on && replica.phase == Phase::kGranted;
}

void Batch::StageNew(ShardIndex shard, const Change& change, const NewReplica& fresh) {
  SM_CHECK(!state_.tables.FindReplica(shard, fresh.server).valid(),
           "a server would have two replicas of a shard");
  if (fresh.phase == Phase::kGranted) {
    CheckPrimaryRight(state_, shard, change, ReplicaIndex(), fresh.role);
  }
  const ReplicaIndex id =
      state_.tables.AddReplica(shard, fresh.server, fresh.role, agenda_.NextEpoch());
  Replica& replica = state_.tables.replica(id);
  if (state_.replication.both_roles()) {
    const bool primary = fresh.role == Role::kPrimary;
    replica.member_life = primary ? state_.tables.server(fresh.server).life() : fresh.member_life;
  }
  replica.in_write = true;
  replica.writing = fresh.phase;
  replica.cause = fresh.cause;
  replica.origin = fresh.origin;
  replica.follows_loads = fresh.follows_loads;
  load_book_.InheritLoads(id);
  state_.moves.budgets.Take(replica);
  if (IsMove(fresh.cause) && replica.role == Role::kSecondary) {
    state_.moves.from[shard] = fresh.origin;
  }
  if (fresh.cause == Cause::kFailover) ++state_.tables.server(fresh.origin).failover_pending;
  Touch(fresh.server);
}

void Batch::Touch(ServerIndex id) {
  Server& server = state_.tables.server(id);
  SM_CHECK(!server.record_unread, "a record that could not be read would be overwritten");
  if (server.batch == number_) return;
  server.batch = number_;
  servers_.push_back(id);
}

void Batch::Send() {
  Persist persist{number_, {}, {}};
  persist.writes.reserve(servers_.size());
  for (ServerIndex id : servers_) {
    const Server& server = state_.tables.server(id);
    ServerWrite write{id, {}};
    write.replicas.reserve(server.replicas.size());
    bool needs_check = false;
    for (ReplicaIndex r : server.replicas) {
      const Replica& replica = state_.tables.replica(r);
      const Phase phase = replica.in_write ? replica.writing : replica.phase;
      ReplicaRecord record{replica.shard, replica.role, phase, replica.epoch, replica.member_life};
      if (const auto t = next_grants_.find(r); t != next_grants_.end() && replica.in_write) {
        needs_check |= replica.role == Role::kPrimary && t->second.role == Role::kSecondary;
        record.role = t->second.role;
        record.epoch = t->second.epoch;
        record.member_life = t->second.member_life;
      }
      needs_check |= replica.in_write && phase == Phase::kAbsent;
      if (phase == Phase::kAbsent) continue;
      write.replicas.push_back(record);
    }
    // Taking something from a server that is not live holds only as long as it has
    // not come back meanwhile.
    if (needs_check && server.state != ServerState::kLive) {
      persist.checks.push_back({id, server.registration_version});
    }
    std::sort(write.replicas.begin(), write.replicas.end(),
              [](const ReplicaRecord& a, const ReplicaRecord& b) { return a.shard < b.shard; });
    persist.writes.push_back(std::move(write));
  }
  state_.writes.out = true;
  agenda_.Do(std::move(persist));
}

void Batch::Apply() {
  for (ServerIndex id : servers_) state_.records.oversize.Written(id);
  std::vector<ReplicaIndex> ended;
  for (ShardIndex id : shards_) {
    state_.tables.shard(id).in_batch = false;
    const ReplicaIndex primary = PrimaryWithLoad(state_, id);
    state_.tables.ForEach(id, [&](ReplicaIndex r, Replica& replica) {
      if (!std::exchange(replica.in_write, false)) return;
      const bool served = Serves(state_, replica);
      const Phase before = std::exchange(replica.phase, replica.writing);
      const auto next = next_grants_.find(r);
      const bool not_demoted = next != next_grants_.end() && next->second.serves_on;
      const bool stays =
          replica.phase == Phase::kGranted &&
          (before == Phase::kForwarding || before == Phase::kDropping || not_demoted);
      if (!ApplyNextGrant(r, before)) {
        // Unless its server began anew meanwhile, it serves what it has just refused to let go.
        const bool serves = stays && replica.contact == Contact::kRetry;
        replica.contact = serves ? Contact::kDone : Contact::kIdle;
        replica.failures = 0;
      }
      if (stays) NoteStays(replica);
      if (before == Phase::kPreparing && replica.phase == Phase::kGranted) {
        switchovers_.BeginPause(id);
      }
      uint32_t& serving = state_.tables.server(replica.server).serving;
      serving -= served;
      serving += Serves(state_, replica);
      if (replica.phase == Phase::kAbsent) ended.push_back(r);
      const bool begins = before == Phase::kAbsent && replica.role == Role::kPrimary;
      const bool anew = replica.cause == Cause::kFailover || state_.tables.shard(id).began;
      if (begins && anew && state_.replication.both_roles()) {
        agenda_.AddNote(
            NoteKind::kUncleanPromotion, replica.server, id,
            "none of its replicas is left: it begins with what the application finds there");
      }
    });
    load_book_.PassLoads(primary, PrimaryWithLoad(state_, id));
    if (state_.tables.shard(id).wanted == 0) state_.tables.shard(id).began = false;
    for (ReplicaIndex r : ended) {
      const Replica& replica = state_.tables.replica(r);
      const ServerIndex server = replica.server;
      if (auto it = state_.moves.from.find(id);
          it != state_.moves.from.end() && it->second == replica.server) {
        state_.moves.from.erase(it);
      }
      state_.failures.troubles.erase(Key(id, replica.server));
      state_.progress.erase(Key(id, replica.server));
      moves_.Settle(r);
      load_book_.RemoveReplica(r);
      moves_.NoteLeft(id, server);
      drains_.NoteDrained(server);
    }
    ended.clear();
    if (state_.replication.both_roles()) switchovers_.End(id);
    agenda_.MarkPublish(id);
    agenda_.MarkDirty(id);
  }
}

void Batch::Revert() {
  next_grants_.clear();
  std::vector<ReplicaIndex> fresh;
  for (ShardIndex id : shards_) {
    state_.tables.shard(id).in_batch = false;
    state_.tables.ForEach(id, [&](ReplicaIndex r, Replica& replica) {
      if (!std::exchange(replica.in_write, false)) return;
      if (replica.phase == Phase::kAbsent) fresh.push_back(r);
    });
    for (ReplicaIndex r : fresh) {
      if (IsMove(state_.tables.replica(r).cause)) state_.moves.from.erase(id);
      moves_.Settle(r);
      load_book_.RemoveReplica(r);
    }
    fresh.clear();
    if (state_.replication.both_roles()) switchovers_.End(id);
    agenda_.MarkDirty(id);
  }
}

void Batch::NoteStays(const Replica& old_owner) {
  state_.failures.troubles.erase(Key(old_owner.shard, old_owner.server));
  const Duration pause = state_.failures.holds.HeldUntil(old_owner.shard, state_.now) - state_.now;
  agenda_.AddNote(
      NoteKind::kMoveCalledOff, old_owner.server, old_owner.shard,
      absl::StrFormat("it serves on here, as requests in flight did not end in time; the next "
                      "move is tried in %.0f s",
                      InSeconds(pause)));
}

// A batch with the server's record was larger than the store takes.
void Batch::RecordRefused(ServerIndex server) {
  const bool first = state_.records.oversize.Refused(server, state_.now);
  agenda_.SetTimer(state_.records.oversize.RetryAt(server) - state_.now, TimerKind::kRecordRetry,
                   server.index());
  if (first) {
    agenda_.AddNote(NoteKind::kRecordTooLarge, server, ShardIndex(),
                    RecordState(state_, server, state_.now));
  }
}

void Batch::On(WriteDone& event) {
  if (!state_.writes.out || event.batch != number_) return;
  state_.writes.out = false;
  switch (event.outcome) {
    case WriteOutcome::kOk:
      Apply();
      return;
    case WriteOutcome::kConflict:
      agenda_.AddNote(NoteKind::kWriteRefused, event.conflict, ShardIndex(),
                      "it registered again while it was failed over");
      state_.tables.server(event.conflict).conflicted = true;
      agenda_.MarkServerDirty(event.conflict);  // what it holds is not lost for now
      Revert();
      return;
    case WriteOutcome::kFailed:
      state_.writes.blocked = true;
      agenda_.SetTimer(kWriteRetryDelay, TimerKind::kWriteRetry);
      Revert();
      return;
    case WriteOutcome::kTooLarge:
      RecordRefused(event.conflict);
      Revert();
      return;
    case WriteOutcome::kDeposed:
      state_.writes.deposed = true;
      agenda_.EndWith(StepDown{});
      return;
  }
}

}  // namespace shardmanager::orchestrator
