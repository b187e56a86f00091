// What each event changes in the tables. What follows from it is decided later, in
// the same pass.
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "orchestrator/decide/handover.h"
#include "orchestrator/decide/loads.h"
#include "orchestrator/decide/view.h"
#include "orchestrator/partition.h"
#include "orchestrator/record_size.h"

namespace shardmanager::orchestrator {
namespace {

using google::protobuf::util::MessageDifferencer;

// How long a new leader waits for servers to say what they hold before it publishes
// without them.
constexpr Duration kMapPatience = Seconds(2);

}  // namespace

Duration Partition::LookInterval() const {
  return Milliseconds(state_.spec.moves().collect_interval_ms());
}

// Not all in one moment, when a whole fleet has come in one moment.
void Partition::SetFirstLook(ServerIndex id) {
  constexpr uint32_t kParts = 16;
  const Duration later = LookInterval() / 2 * (id.index() % kParts) / kParts;
  agenda_.SetTimer(LookInterval() - later, TimerKind::kLook, id.index());
}

// As often as the new spec says, and soon.
void Partition::RestartLooks() {
  looks_since_ = agenda_.timers().order();
  for (uint32_t i = 0; i < state_.tables.server_count(); ++i) {
    Server& server = state_.tables.server(ServerIndex(i));
    server.look_timer = server.state == ServerState::kLive;
    if (server.look_timer) SetFirstLook(ServerIndex(i));
  }
}

void Partition::SetBalanceTimer() {
  const Duration interval = Milliseconds(state_.spec.moves().balance_interval_ms());
  state_.balance.next = state_.now + interval;
  agenda_.SetTimer(interval, TimerKind::kBalance);
}

void Partition::On(Recovered& event) {
  AdoptSpec(event.spec, event.deleting);
  state_.drains = event.drains;
  for (StoredServer& stored : event.servers) RecoverServer(stored);
  RecoverMoves();
  unread_.NoteRights();
  state_.recovered = true;
  publication_.MarkWhole();
  agenda_.SetTimer(kMapPatience, TimerKind::kMapDeadline);
  agenda_.SetTimer(MissingShards::kTick, TimerKind::kReplan);
  SetBalanceTimer();
}

void Partition::RecoverServer(StoredServer& stored) {
  const ServerIndex id = state_.tables.InternServer(stored.name);
  for (const StoredReplica& r : stored.assignment) {
    const ShardIndex shard = state_.tables.InternShard(r.shard);
    if (state_.tables.FindReplica(shard, id).valid()) continue;  // one server, one replica
    Replica& replica = state_.tables.replica(state_.tables.AddReplica(shard, id, r.role, r.epoch));
    replica.phase = r.phase;
    replica.member_life = r.member_life;
    replica.settled = true;
    state_.tables.shard(shard).began = state_.tables.shard(shard).wanted > 0;
    agenda_.MarkDirty(shard);
  }
  state_.tables.server(id).record_unread = stored.unread;
  if (stored.unread) state_.unread.servers.push_back(id);
  state_.tables.server(id).registration_version = stored.registration_version;
  if (stored.live) {
    AdoptLife(id, *stored.live);
  } else if (!state_.tables.server(id).replicas.empty()) {
    LoseServer(id, stored.departed);
  }
}

// Handovers that a former leader began count as what they are, up to the end: while the old owner
// drops and the new one does not serve yet, that one may have to give the shard back
// (decide/failures.h).
void Partition::RecoverMoves() {
  for (uint32_t i = 0; i < state_.tables.shard_count(); ++i) {
    const Handover handover = HandoverOf(state_, ShardIndex(i));
    const bool prepares = handover.to.valid();
    const ReplicaIndex old_owner = prepares ? handover.from : handover.last;
    const ReplicaIndex new_owner = prepares ? handover.to : handover.from;
    if (!old_owner.valid() || !new_owner.valid()) continue;
    Replica& to = state_.tables.replica(new_owner);
    if (state_.tables.server(to.server).state != ServerState::kLive)
      continue;  // nothing comes of it
    to.origin = state_.tables.replica(old_owner).server;
    to.cause = CauseOfMove(state_, to.origin);
    to.settled = false;
    state_.moves.budgets.Take(to);
  }
}

void Partition::On(SpecChanged& event) {
  const bool same_spec =
      MessageDifferencer::Equals(event.spec, state_.spec) && event.deleting == state_.deleting;
  drains_.AdoptDrains(event.drains);
  if (same_spec) return;
  AdoptSpec(event.spec, event.deleting);
  agenda_.AddNote(NoteKind::kSpecApplied, ServerIndex(), ShardIndex(),
                  event.deleting ? "deleting" : absl::StrCat(state_.layout.size(), " shards"));
}

void Partition::AdoptSpec(const v1::AppSpec& spec, bool deleting) {
  for (ShardIndex shard : state_.map_order) {
    state_.tables.shard(shard).wanted = 0;
    state_.tables.shard(shard).map_index = Shard::kNotInMap;
    agenda_.MarkDirty(shard);
  }
  const bool other_roles = spec.replication().strategy() != state_.spec.replication().strategy();
  const bool other_interval =
      spec.moves().collect_interval_ms() != state_.spec.moves().collect_interval_ms();
  state_.spec = spec;
  state_.moves.budgets.Adopt(spec);
  state_.deleting = deleting;
  if (load_book_.AdoptMetrics() || other_interval) RestartLooks();
  state_.layout = deleting ? std::vector<LayoutShard>() : ExpandLayout(spec);
  state_.region_allowed.clear();
  for (const std::string& region : spec.placement().regions()) {
    const uint32_t number = DomainNumber(region);
    if (state_.region_allowed.size() <= number) state_.region_allowed.resize(number + 1);
    state_.region_allowed[number] = true;
  }
  state_.records.most_replica_bytes = 0;
  state_.map_order.clear();
  state_.map_order.reserve(state_.layout.size());
  for (const LayoutShard& entry : state_.layout) {
    const ShardIndex id = state_.tables.InternShard(entry.id.value());
    Shard& shard = state_.tables.shard(id);
    shard.wanted = static_cast<uint16_t>(std::max(1u, spec.replication().replicas()));
    shard.map_index = static_cast<uint32_t>(state_.map_order.size());
    shard.region = entry.preferred_region.empty() ? 0 : DomainNumber(entry.preferred_region);
    failed_shards_.ForgetPoison(id);
    state_.map_order.push_back(id);
    state_.records.most_replica_bytes =
        std::max(state_.records.most_replica_bytes, ReplicaBytes(entry.id.value()));
    agenda_.MarkDirty(id);
  }
  state_.missing.RetryAll();
  state_.missing.ForgetAll();
  for (uint32_t i = 0; other_roles && i < state_.tables.server_count(); ++i)
    drains_.UpdateDrain(ServerIndex(i));
  publication_.MarkWhole();
  agenda_.LookAtBalance();
}

void Partition::On(ServerUp& event) {
  const ServerIndex id = state_.tables.InternServer(event.life.name);
  const Server& server = state_.tables.server(id);
  if (server.state == ServerState::kLive && server.incarnation >= event.life.incarnation) return;
  if (server.state == ServerState::kLive) LoseServer(id, /*departed=*/false);
  AdoptLife(id, event.life);
}

void Partition::AdoptLife(ServerIndex id, const ServerLife& life) {
  Server& server = state_.tables.server(id);
  server.state = ServerState::kLive;
  server.failing_over = false;
  server.conflicted = false;
  server.unreachable = 0;
  server.reports_out = 0;
  server.incarnation = life.incarnation;
  server.registration_version = static_cast<int32_t>(life.incarnation.value());
  server.endpoint = life.endpoint;
  server.life_unread = life.unread;
  server.fault_domain = life.fault_domain;
  server.capacity = life.capacity;
  load_book_.AdoptCapacities(id, life.metric_capacity);
  const FaultDomain& at = life.fault_domain;
  server.region = DomainNumber(at.region);
  server.datacenter = DomainNumber(at.region, at.datacenter);
  server.rack = DomainNumber(at.region, at.datacenter, at.rack);
  drains_.UpdateDrain(id);
  ForgetContacts(id);
  state_.failures.holds.Restarted(id);
  if (state_.failures.quarantine.Restarted(id))
    sick_servers_.EndQuarantine(id, "it is a new process");
  agenda_.AddNote(NoteKind::kServerJoined, id, ShardIndex(),
                  absl::StrCat("life ", life.incarnation.value(), " at ",
                               life.unread ? "an unknown place: its live record cannot be read"
                                           : life.endpoint));

  if (server.record_unread) state_.unread.members.Await(id);
  server.reported = life.unread || (server.replicas.empty() && !server.record_unread);
  if (!server.reported) {
    publication_.Await();
    AskForReport(id);
  }
  if (!std::exchange(server.look_timer, true)) {
    SetFirstLook(id);
  }
  agenda_.LookAtBalance();
  state_.balance.at_rest = false;
  agenda_.RetryUnplaceable();
  Gather();
}

void Partition::On(ServerDown& event) {
  const ServerIndex id = state_.tables.FindServer(event.name);
  if (!id.valid()) return;
  Server& server = state_.tables.server(id);
  if (server.incarnation > event.incarnation) return;  // an earlier life
  server.registration_version = event.registration_version;
  server.conflicted = false;
  if (server.state == ServerState::kLive) {
    LoseServer(id, event.departed);
  } else if (event.departed && server.state == ServerState::kLost) {
    LoseServer(id, true);
  } else {
    agenda_.MarkServerDirty(id);
  }
}

// Its lease has lapsed: nothing is served there as primary any more.
void Partition::LoseServer(ServerIndex id, bool departed) {
  Server& server = state_.tables.server(id);
  if (server.state == ServerState::kLive && !server.reported) publication_.Reported();
  ForgetContacts(id);
  // It will not get ready: what counts it as under way would wait for ever.
  for (ReplicaIndex r : server.replicas) Settle(r);
  server.state = departed ? ServerState::kDeparted : ServerState::kLost;
  server.lost_at = state_.now;
  const NoteKind kind = departed ? NoteKind::kServerDeparted : NoteKind::kServerLost;
  if (server.record_unread) {
    agenda_.AddNote(kind, id, ShardIndex(), "no failover: its assignment record cannot be read");
    return;
  }
  const Duration delay = departed ? Duration(0) : Milliseconds(state_.spec.failover().delay_ms());
  server.failover_at = state_.now + delay;
  agenda_.AddNote(
      kind, id, ShardIndex(),
      absl::StrCat(server.replicas.size(), " replicas; failover in ",
                   std::chrono::duration_cast<std::chrono::milliseconds>(delay).count(), " ms"));
  agenda_.SetTimer(delay, TimerKind::kFailover, id.index());
}

// Whatever was asked of the server, or heard from it, belonged to another life.
void Partition::ForgetContacts(ServerIndex id) {
  Server& server = state_.tables.server(id);
  for (ReplicaIndex r : server.replicas) {
    Replica& replica = state_.tables.replica(r);
    replica.contact = Contact::kIdle;
    replica.failures = 0;
    replica.turned = false;
    if (replica.role == Role::kPrimary) members_.ForgetMembers(replica.shard);
    agenda_.MarkPublish(replica.shard);
    agenda_.MarkDirty(replica.shard);
  }
  server.serving = 0;
  server.reported = true;
  if (server.record_unread) unread_.SetUnreadMembers({id, server.incarnation}, {});
}

void Partition::On(CommandResult& event) {
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
      state_.progress[Key(event.shard, event.server)] = static_cast<uint8_t>(event.progress * 100);
      return;
    case CommandOutcome::kDone: {
      // What served before may only have said yes to a repeat.
      const bool loaded =
          event.kind == CommandKind::kAdd && (!replica.settled || replica.failures > 0);
      replica.contact = Contact::kDone;
      replica.failures = 0;
      if (replica.phase == Phase::kGranted) {
        replica.told_since = server.reports_out > 0;
        AddDone(id);
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

void Partition::AddDone(ReplicaIndex id) {
  const Replica& replica = state_.tables.replica(id);
  ++state_.tables.server(replica.server).serving;
  if (!state_.failures.troubles.empty())
    state_.failures.troubles.erase(Key(replica.shard, replica.server));
  if (!state_.progress.empty()) state_.progress.erase(Key(replica.shard, replica.server));
  agenda_.MarkPublish(replica.shard);
  if (replica.role == Role::kPrimary && !state_.turns.stand_in.empty())
    state_.turns.stand_in.erase(replica.shard);
  if (HasBothRoles(state_)) agenda_.MarkDirty(replica.shard);
  Shard& shard = state_.tables.shard(replica.shard);
  if (replica.role == Role::kPrimary) shard.began = shard.wanted > 0;
  failed_shards_.ForgetPoison(replica.shard);
  state_.failures.overtaken.Served(replica.shard);
  if (!state_.failures.return_to.empty()) state_.failures.return_to.erase(replica.shard);
  // (One that moved here before, and is granted anew, proves nothing about the next move.)
  if (IsMove(replica.cause) && !replica.settled) state_.failures.holds.Forget(replica.shard);
  Settle(id);
}

void Partition::AskForReport(ServerIndex id) {
  Server& server = state_.tables.server(id);
  ++server.reports_out;
  agenda_.Do(Collect{id, server.incarnation});
}

void Partition::On(ServerReport& event) {
  Server& server = state_.tables.server(event.server);
  if (server.state != ServerState::kLive || server.incarnation != event.incarnation) return;
  if (server.reports_out > 0) --server.reports_out;
  if (server.record_unread && event.ok) unread_.AdoptReported(event);
  // Each shard is looked at, but only what differs makes the balance worth a look.
  const bool rested = state_.balance.at_rest;
  agenda_.MarkServerDirty(event.server);
  state_.balance.at_rest = rested;
  if (!std::exchange(server.reported, true)) publication_.Reported();
  if (!event.ok) return;  // commands will be tried anyway

  absl::flat_hash_map<ShardIndex, const HeldReplica*> held;
  for (const HeldReplica& h : event.held) held[state_.tables.InternShard(h.shard)] = &h;
  std::vector<double> before;
  for (size_t m = 0; m < state_.loads.metrics.size(); ++m)
    before.push_back(ServerLoad(state_, event.server, m));
  LoadProblem problem;
  for (ReplicaIndex id : server.replicas) {
    Replica& replica = state_.tables.replica(id);
    auto it = held.find(replica.shard);
    if (it != held.end() && !it->second->load.empty())
      load_book_.RecordLoads(id, *it->second, problem);
    const bool serves =
        it != held.end() && it->second->epoch == replica.epoch && it->second->serving;
    // What it said after it was asked may be newer than this report.
    const bool told_since = replica.told_since;
    if (server.reports_out == 0) replica.told_since = false;
    if (replica.in_write || replica.phase != Phase::kGranted) continue;
    if (serves && replica.contact == Contact::kIdle) {
      replica.contact = Contact::kDone;
      state_.balance.at_rest = false;
      AddDone(id);
    } else if (!serves && replica.contact == Contact::kDone && !told_since) {
      // It says it does not serve what it said it served: ask again.
      --server.serving;
      replica.contact = Contact::kIdle;
      state_.balance.at_rest = false;
      agenda_.MarkPublish(replica.shard);
    }
  }
  for (size_t m = 0; m < state_.loads.metrics.size(); ++m) {
    if (ServerLoad(state_, event.server, m) < before[m]) state_.missing.MayHelp(Help::kRoom);
  }
  load_book_.NoteLoadProblem(event.server, problem);
  DropStrays(event);
}

// Held there, but not assigned: leftovers of a failover.
void Partition::DropStrays(const ServerReport& report) {
  if (state_.tables.server(report.server).record_unread) return;  // nobody knows what is assigned
  for (const HeldReplica& h : report.held) {
    const ShardIndex shard = state_.tables.InternShard(h.shard);
    if (state_.tables.FindReplica(shard, report.server).valid()) continue;
    agenda_.Send({report.server, CommandKind::kDrop, {shard, Role::kPrimary, h.epoch}});
  }
}

// It is lost, and was waited for long enough.
void Partition::GiveUp(ServerIndex id) {
  Server& server = state_.tables.server(id);
  const bool due = server.state != ServerState::kLive && state_.now >= server.failover_at &&
                   !server.record_unread;
  if (!due || std::exchange(server.failing_over, true)) return;
  if (!server.replicas.empty()) {
    agenda_.AddNote(NoteKind::kFailoverStarted, id, ShardIndex(),
                    absl::StrCat(server.replicas.size(), " replicas"));
  }
  // Its fault domain is free again for what it had, and for nothing else.
  for (ReplicaIndex r : server.replicas) state_.missing.Retry(state_.tables.replica(r).shard);
  agenda_.MarkServerDirty(id);
}

void Partition::LookAgain(const Timer& timer) {
  if (timer.order < looks_since_) return;
  Server& server = state_.tables.server(ServerIndex(timer.id));
  server.look_timer = server.state == ServerState::kLive;
  if (!server.look_timer) return;  // the next life sets its own
  if (!server.life_unread) AskForReport(ServerIndex(timer.id));
  agenda_.SetTimer(LookInterval(), TimerKind::kLook, timer.id);
}

void Partition::Fire(const Timer& timer) {
  switch (timer.kind) {
    case TimerKind::kFailover:
      return GiveUp(ServerIndex(timer.id));
    case TimerKind::kServerRetry:
      return RetryServer(ServerIndex(timer.id));
    case TimerKind::kShardRetry:
      return RetryShard(ShardIndex(timer.id));
    case TimerKind::kMembersRetry:
      return members_.RetryMembers(ShardIndex(timer.id));
    case TimerKind::kMoveAgain:
      state_.missing.Retry(ShardIndex(timer.id));  // it may go to any server again
      return agenda_.MarkDirty(ShardIndex(timer.id));
    case TimerKind::kTryElsewhere:
      state_.missing.Retry(ShardIndex(timer.id));
      return failed_shards_.TryElsewhere(ShardIndex(timer.id));
    case TimerKind::kTrial:
      return agenda_.LookForPlaces();
    case TimerKind::kTurnAgain:
      return turns_.EndTurnPause(ShardIndex(timer.id));
    case TimerKind::kLook:
      return LookAgain(timer);
    case TimerKind::kBalance:
      agenda_.LookAtBalance();
      return SetBalanceTimer();
    case TimerKind::kReplan:
      state_.missing.Tick(state_.now);
      return agenda_.SetTimer(MissingShards::kTick, TimerKind::kReplan);
    case TimerKind::kGather:
      return;  // the pass that follows plans
    case TimerKind::kPublish:
      publication_.OnTimer();
      return;
    case TimerKind::kWriteRetry:
      state_.writes.blocked = false;
      return;
    case TimerKind::kRecordRetry:
      state_.missing.MayHelp(Help::kRoom);
      return agenda_.MarkServerDirty(ServerIndex(timer.id));
    case TimerKind::kMapDeadline:
      publication_.PastDeadline();
      return;
  }
}

}  // namespace shardmanager::orchestrator
