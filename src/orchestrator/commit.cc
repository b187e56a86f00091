// Batches: what is written together, and what becomes true when it is durable.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "orchestrator/partition.h"
#include "orchestrator/record_size.h"

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

}  // namespace

void Partition::FormBatch() {
  if (batch_out_ || writes_blocked_ || write_queue_.empty()) return;
  ++batch_;
  batch_shards_.clear();
  batch_servers_.clear();
  batch_checks_.clear();
  size_t bytes = 0;
  size_t limit = kUsualBatchBytes;
  // What does not fit waits for the next batch, but the rest of the queue is looked
  // through: a shard whose servers' records are rewritten anyway costs next to
  // nothing. Without that, a lost server whose shards go to all others in turn would
  // fill a batch with one shard of each.
  std::vector<ShardIndex> passed_over;
  while (!write_queue_.empty() && bytes < limit && passed_over.size() < kMaxPassedOver) {
    const ShardIndex id = write_queue_.front();
    write_queue_.pop_front();
    Decide(id);            // again: things may have changed since it was queued
    if (AwaitsRecord()) {  // its timer brings the shard back
      tables_.shard(id).waits_for_write = false;
      continue;
    }
    const size_t cost = CostOf(change_);
    if (batch_shards_.empty()) limit = LimitOf(cost);
    if (bytes + cost > limit) {
      passed_over.push_back(id);
      continue;
    }
    tables_.shard(id).waits_for_write = false;
    if (change_.empty()) {
      Look(id);
      continue;
    }
    bytes += cost;
    Stage(id);
  }
  write_queue_.insert(write_queue_.begin(), passed_over.begin(), passed_over.end());
  if (!batch_shards_.empty()) SendBatch();
}

// Bytes that the change adds to the batch, at most.
size_t Partition::CostOf(const Change& change) const {
  size_t bytes = 0;
  const auto add_record = [&](ServerIndex id) {
    const Server& server = tables_.server(id);
    if (server.batch == batch_) return;
    const std::string& name = tables_.name(id);
    bytes += EmptyRecordBytes(spec_.name(), name) + server.record_bytes;
    if (server.state != ServerState::kLive) bytes += CheckBytes(spec_.name(), name);
  };
  for (const PhaseChange& c : change.phases) add_record(tables_.replica(c.replica).server);
  for (const NewReplica& fresh : change.news) {
    add_record(fresh.server);
    bytes += most_replica_bytes_;
  }
  return bytes;
}

// The one place through which every right to serve is given or taken: each
// transition is held against model/replica_phase.h before it goes out.
void Partition::Stage(ShardIndex id) {
  Shard& shard = tables_.shard(id);
  CheckOneGrant();
  for (const PhaseChange& c : change_.phases) CheckRight(id, c);
  for (const PhaseChange& c : change_.phases) StageChange(c);
  for (const NewReplica& fresh : change_.news) StageNew(id, fresh);
  shard.in_batch = true;
  shard.missing = false;
  missing_.Release(id);
  intents_.erase(id);
  batch_shards_.push_back(id);
}

void Partition::CheckRight(ShardIndex shard, const PhaseChange& change) const {
  const Replica& replica = tables_.replica(change.replica);
  if (change.member_life && change.to == replica.phase && change.turn == Turn::kNone) return;
  const PhaseTransition* rule = FindTransition(replica.phase, change.to, change.turn);
  SM_CHECK(rule != nullptr, "no such transition of a replica");
  if (rule->proof == Proof::kNoOtherPrimary) {
    const Role role = change.turn == Turn::kPromote ? Role::kPrimary : replica.role;
    CheckPrimaryRight(shard, change.replica, role);
  }
  if (rule->proof == Proof::kServesOn) {
    SM_CHECK(IsCalledOff(replica), "it was told to let go, and has not said that it serves on");
    tables_.ForEach(shard, [&](ReplicaIndex id, const Replica& other) {
      const bool idle = other.phase == Phase::kPreparing || other.phase == Phase::kReserved;
      SM_CHECK(id == change.replica || other.role != Role::kPrimary || idle,
               "a second replica has the right to serve as primary");
    });
  }
  if (rule->proof == Proof::kStopped) {
    // A server that is not live is checked again by the write itself.
    const bool stops = replica.phase == Phase::kDropping || replica.phase == Phase::kDemoting;
    const bool confirmed = stops && replica.contact == Contact::kDone;
    SM_CHECK(confirmed || tables_.server(replica.server).state != ServerState::kLive,
             "a replica is removed before it has stopped");
  }
}

// A change gives the right to serve as primary to one replica at most.
void Partition::CheckOneGrant() const {
  size_t grants = 0;
  for (const PhaseChange& c : change_.phases) {
    const Replica& replica = tables_.replica(c.replica);
    const bool primary = replica.role == Role::kPrimary && c.turn != Turn::kDemote;
    const bool comes = replica.phase == Phase::kReserved || replica.phase == Phase::kPreparing;
    grants += c.turn == Turn::kPromote || (primary && comes && c.to == Phase::kGranted);
  }
  for (const NewReplica& fresh : change_.news) {
    grants += fresh.role == Role::kPrimary && fresh.phase == Phase::kGranted;
  }
  SM_CHECK(grants <= 1, "two replicas would be granted the shard as primary at once");
}

// As far as the records and its own answers say. (What prepares processes what is forwarded.)
bool Partition::MayProcess(const Replica& replica) {
  if (replica.phase == Phase::kForwarding || replica.phase == Phase::kDemoting) {
    return replica.contact != Contact::kDone;
  }
  return replica.phase != Phase::kAbsent && replica.phase != Phase::kReserved;
}

// REQUIRES: `granted` (invalid: a new replica) is about to be granted.
void Partition::CheckPrimaryRight(ShardIndex shard, ReplicaIndex granted, Role role) const {
  if (role != Role::kPrimary) return;
  tables_.ForEach(shard, [&](ReplicaIndex id, const Replica& other) {
    if (id == granted || other.role != Role::kPrimary) return;
    const bool ends =
        std::any_of(change_.phases.begin(), change_.phases.end(), [&](const PhaseChange& c) {
          return c.replica == id && (c.to == Phase::kAbsent || c.turn == Turn::kDemote);
        });
    SM_CHECK(!MayProcess(other) || ends, "two replicas would have the right to serve as primary");
  });
}

void Partition::StageChange(const PhaseChange& change) {
  Replica& replica = tables_.replica(change.replica);
  replica.in_write = true;
  replica.writing = change.to;
  Touch(replica.server);
  if (change.failed && replica.phase == Phase::kPreparing) HoldMoves(replica.shard, replica.server);
  if (change.failed && replica.phase == Phase::kGranted) NoteFailedAt(replica);
  if (change.failed && change.to == Phase::kGranted) HoldMoves(replica.shard, ServerIndex());
  if (change.overtaken) overtaken_.GrantedAnew(replica.shard, now_);
  const bool leaves = change.to == Phase::kDropping && replica.member_life != 0;
  const bool called_off = replica.phase == Phase::kDemoting && change.to == Phase::kGranted &&
                          change.turn == Turn::kNone;
  const ShardEpoch kept = called_off ? ServesOnUnder(replica) : ShardEpoch();
  const bool granted_anew = change.turn == Turn::kPromote || change.to == Phase::kDemoting ||
                            (called_off && kept == ShardEpoch()) ||
                            (change.turn == Turn::kDemote && replica.phase == Phase::kGranted);
  if (!granted_anew && !called_off && change.turn == Turn::kNone && !change.member_life && !leaves)
    return;
  Turning next{replica.role, replica.epoch, change.member_life.value_or(replica.member_life)};
  if (leaves) next.member_life = 0;
  if (change.to == Phase::kDemoting) BeginTurn(replica.shard);
  if (change.turn != Turn::kNone) {
    next.role = change.turn == Turn::kPromote ? Role::kPrimary : Role::kSecondary;
  }
  if (granted_anew) next.epoch = NextEpoch();
  if (kept != ShardEpoch()) {
    next.epoch = kept;
    next.serves_on = true;
  }
  turning_[change.replica] = next;
}

void Partition::StageNew(ShardIndex shard, const NewReplica& fresh) {
  SM_CHECK(!tables_.FindReplica(shard, fresh.server).valid(),
           "a server would have two replicas of a shard");
  if (fresh.phase == Phase::kGranted) CheckPrimaryRight(shard, ReplicaIndex(), fresh.role);
  const ReplicaIndex id = tables_.AddReplica(shard, fresh.server, fresh.role, NextEpoch());
  Replica& replica = tables_.replica(id);
  if (HasBothRoles() && fresh.role == Role::kPrimary) {
    replica.member_life = tables_.server(fresh.server).life();
  }
  replica.in_write = true;
  replica.writing = fresh.phase;
  replica.cause = fresh.cause;
  replica.origin = fresh.origin;
  InheritLoads(id);
  budgets_.Take(replica);
  if (IsMove(fresh.cause) && replica.role == Role::kSecondary) move_from_[shard] = fresh.origin;
  if (fresh.cause == Cause::kFailover) ++tables_.server(fresh.origin).failover_pending;
  Touch(fresh.server);
}

void Partition::Touch(ServerIndex id) {
  Server& server = tables_.server(id);
  SM_CHECK(!server.record_unread, "a record that could not be read would be overwritten");
  if (server.batch == batch_) return;
  server.batch = batch_;
  batch_servers_.push_back(id);
}

void Partition::SendBatch() {
  Persist persist{batch_, {}, {}};
  persist.writes.reserve(batch_servers_.size());
  for (ServerIndex id : batch_servers_) {
    const Server& server = tables_.server(id);
    ServerWrite write{id, {}};
    write.replicas.reserve(server.replicas.size());
    bool needs_check = false;
    for (ReplicaIndex r : server.replicas) {
      const Replica& replica = tables_.replica(r);
      const Phase phase = replica.in_write ? replica.writing : replica.phase;
      ReplicaRecord record{replica.shard, replica.role, phase, replica.epoch, replica.member_life};
      if (const auto t = turning_.find(r); t != turning_.end() && replica.in_write) {
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
      batch_checks_.push_back(id);
    }
    std::sort(write.replicas.begin(), write.replicas.end(),
              [](const ReplicaRecord& a, const ReplicaRecord& b) { return a.shard < b.shard; });
    persist.writes.push_back(std::move(write));
  }
  batch_out_ = true;
  out_.actions.emplace_back(std::move(persist));
}

void Partition::On(WriteDone& event) {
  if (!batch_out_ || event.batch != batch_) return;
  batch_out_ = false;
  switch (event.outcome) {
    case WriteOutcome::kOk:
      ApplyBatch();
      return;
    case WriteOutcome::kConflict:
      AddNote(NoteKind::kWriteRefused, event.conflict, ShardIndex(),
              "it registered again while it was failed over");
      tables_.server(event.conflict).conflicted = true;
      MarkServerDirty(event.conflict);  // what it holds is not lost for now
      RevertBatch();
      return;
    case WriteOutcome::kFailed:
      writes_blocked_ = true;
      SetTimer(kWriteRetryDelay, TimerKind::kWriteRetry);
      RevertBatch();
      return;
    case WriteOutcome::kTooLarge:
      RecordRefused(event.conflict);
      RevertBatch();
      return;
    case WriteOutcome::kDeposed:
      stopped_ = true;
      out_ = {};
      out_.actions.emplace_back(StepDown{});
      return;
  }
}

void Partition::ApplyBatch() {
  for (ServerIndex id : batch_servers_) oversize_.Written(id);
  std::vector<ReplicaIndex> ended;
  for (ShardIndex id : batch_shards_) {
    tables_.shard(id).in_batch = false;
    tables_.ForEach(id, [&](ReplicaIndex r, Replica& replica) {
      if (!std::exchange(replica.in_write, false)) return;
      const bool served = Serves(replica);
      const Phase before = std::exchange(replica.phase, replica.writing);
      const auto turning = turning_.find(r);
      const bool not_demoted = turning != turning_.end() && turning->second.serves_on;
      const bool stays =
          replica.phase == Phase::kGranted &&
          (before == Phase::kForwarding || before == Phase::kDropping || not_demoted);
      if (!ApplyTurn(r, before)) {
        // Unless its server began anew meanwhile, it serves what it has just refused to let go.
        const bool serves = stays && replica.contact == Contact::kRetry;
        replica.contact = serves ? Contact::kDone : Contact::kIdle;
        replica.failures = 0;
      }
      if (stays) NoteStays(replica);
      if (before == Phase::kPreparing && replica.phase == Phase::kGranted) BeginTurnPause(id);
      uint32_t& serving = tables_.server(replica.server).serving;
      serving -= served;
      serving += Serves(replica);
      if (replica.phase == Phase::kAbsent) ended.push_back(r);
      const bool begins = before == Phase::kAbsent && replica.role == Role::kPrimary;
      const bool anew = replica.cause == Cause::kFailover || tables_.shard(id).began;
      if (begins && anew && HasBothRoles()) {
        AddNote(NoteKind::kUncleanPromotion, replica.server, id,
                "none of its replicas is left: it begins with what the application finds there");
      }
    });
    if (tables_.shard(id).wanted == 0) tables_.shard(id).began = false;
    for (ReplicaIndex r : ended) {
      const Replica& replica = tables_.replica(r);
      const ServerIndex server = replica.server;
      if (auto it = move_from_.find(id); it != move_from_.end() && it->second == replica.server) {
        move_from_.erase(it);
      }
      errors_.erase(Key(id, replica.server));
      progress_.erase(Key(id, replica.server));
      Settle(r);
      RemoveReplica(r);
      NoteDrained(server);
    }
    ended.clear();
    if (HasBothRoles()) EndTurn(id);
    MarkPublish(id);
    MarkDirty(id);
  }
}

// The primary is back in another life, and nobody who was in step with the former one is left.
// (With a quorum the application's log outlives its process.)
bool Partition::BeginsAnew(const Replica& primary, const Turning& next) const {
  if (primary.role != Role::kPrimary || next.role != Role::kPrimary) return false;
  if (primary.member_life == 0 || next.member_life == 0) return false;
  return primary.member_life != next.member_life && !spec_.replication().quorum();
}

// What changed besides the phase. True: what the server has said of it holds on.
bool Partition::ApplyTurn(ReplicaIndex id, Phase before) {
  const auto found = turning_.find(id);
  if (found == turning_.end()) return false;
  const Turning next = found->second;
  turning_.erase(found);
  Replica& replica = tables_.replica(id);
  const bool granted_anew = replica.epoch != next.epoch && !next.serves_on;
  const bool demoted = replica.role == Role::kPrimary && next.role == Role::kSecondary;
  const bool begins_anew = BeginsAnew(replica, next);
  if (demoted || replica.phase == Phase::kDemoting) ForgetMembers(replica.shard);
  tables_.SetRole(id, next.role);
  replica.epoch = next.epoch;
  replica.member_life = next.member_life;
  if (demoted && before == Phase::kDemoting) {
    stand_in_[replica.shard] = replica.server;
    sent_to_[replica.shard] = replica.server;
    if (!turns_.contains(replica.shard)) BeginTurnPause(replica.shard);  // a former leader began it
    move_holds_.LetGo(replica.shard);
  }
  if (begins_anew) {
    AddNote(NoteKind::kUncleanPromotion, replica.server, replica.shard,
            "its process began anew, and no replica in step is left: unless it finds everything on "
            "disk, it lacks what was acknowledged");
  }
  if (granted_anew) replica.turned = true;
  if (granted_anew && next.role == Role::kPrimary && replica.phase == Phase::kGranted) {
    AddNote(NoteKind::kPrimaryElected, replica.server, replica.shard,
            absl::StrCat("epoch ", next.epoch.value()));
    replica.lacking = !IsCurrent(replica);
    if (replica.lacking) {
      AddNote(NoteKind::kUncleanPromotion, replica.server, replica.shard,
              "no replica in step is left: it may lack what was acknowledged last");
    }
  }
  return !granted_anew && !next.serves_on && replica.phase == Phase::kGranted;
}

void Partition::RevertBatch() {
  turning_.clear();
  std::vector<ReplicaIndex> fresh;
  for (ShardIndex id : batch_shards_) {
    tables_.shard(id).in_batch = false;
    tables_.ForEach(id, [&](ReplicaIndex r, Replica& replica) {
      if (!std::exchange(replica.in_write, false)) return;
      if (replica.phase == Phase::kAbsent) fresh.push_back(r);
    });
    for (ReplicaIndex r : fresh) {
      if (IsMove(tables_.replica(r).cause)) move_from_.erase(id);
      Settle(r);
      RemoveReplica(r);
    }
    fresh.clear();
    if (HasBothRoles()) EndTurn(id);
    MarkDirty(id);
  }
}

// What was counted as under way for this replica is not any more: it serves, or it
// is gone.
void Partition::Settle(ReplicaIndex id) {
  Replica& replica = tables_.replica(id);
  if (std::exchange(replica.settled, true)) return;
  budgets_.Give(replica);
  if (IsMove(replica.cause)) {
    if (budgets_.under_way(replica.cause) == 0) balance_soon_ = true;
    at_rest_ = false;  // a plan that was made meanwhile found the budget of its servers used up
  }
  if (replica.cause == Cause::kFailover) {
    if (--tables_.server(replica.origin).failover_pending == 0) {
      finished_failovers_.push_back(replica.origin);
    }
    missing_.MayHelp(Help::kAny);  // its target may take the next one
    NextFailover();
  }
}

}  // namespace shardmanager::orchestrator
