#include "orchestrator/core/fleet.h"

#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "orchestrator/decide/load/loads.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// What the server could not do lasts for as long as it tried: not while it was away.
void LeaveOutTimeAway(PartitionState& state, ServerIndex id) {
  const Server& server = state.tables.server(id);
  for (const ReplicaIndex r : server.replicas) {
    const auto trouble = state.failures.troubles.find(Key(state.tables.replica(r).shard, id));
    if (trouble != state.failures.troubles.end())
      trouble->second.since += state.now - server.lost_at;
  }
}

}  // namespace

void Fleet::AdoptLife(ServerIndex id, const ServerLife& life) {
  Server& server = state_.tables.server(id);
  server.state = ServerState::kLive;
  server.failing_over = false;
  server.conflicted = false;
  server.unreachable = 0;
  server.reports_out = 0;
  server.incarnation = life.incarnation;
  server.registration_version = static_cast<int32_t>(life.incarnation.value());
  server.location.endpoint = life.endpoint;
  server.location.process = life.process;
  server.life_unread = life.unread;
  server.planned.forgotten = false;
  AwaitSteadiness(id);
  server.capacity = life.capacity;
  load_book_.AdoptCapacities(id, life.metric_capacity);
  Place(server, life.fault_domain);
  drains_.UpdateDrain(id);
  LeaveOutTimeAway(state_, id);
  ForgetContacts(id);
  state_.failures.holds.Restarted(id);
  if (state_.failures.quarantine.Restarted(id)) {
    sick_servers_.EndQuarantine(id, "it is a new process");
  }
  agenda_.AddNote(NoteKind::kServerJoined, id, ShardIndex(),
                  absl::StrCat("life ", life.incarnation.value(), " at ",
                               life.unread ? "an unknown place: its live record cannot be read"
                                           : life.endpoint));

  if (server.record_unread) state_.unread.members.Await(id);
  server.reported = life.unread || (server.replicas.empty() && !server.record_unread);
  if (!server.reported) {
    publication_.Await();
    AskForReport(id);
  } else if (!life.unread && !state_.loads.metrics.empty()) {
    AskForReport(id);  // what it can carry, before it is given much
  }
  if (!std::exchange(server.look_timer, true)) {
    SetFirstLook(id);
  }
  agenda_.LookAtBalance();
  state_.balance.at_rest = false;
  agenda_.RetryUnplaceable();
  planner_.Gather();
}

void Fleet::AwaitSteadiness(ServerIndex id) {
  Steadiness& steadiness = state_.tables.server(id).steadiness;
  steadiness.Began(state_.now, Milliseconds(state_.spec.moves().steady_after_ms()));
  if (steadiness.IsSteady(state_.now)) return;
  const Duration time = steadiness.steady_at() - state_.now;
  agenda_.SetTimer(time, TimerKind::kSteady, id.index());
  agenda_.AddNote(NoteKind::kServerUnsteady, id, ShardIndex(),
                  absl::StrCat("lost ", steadiness.losses(), " times in a row: for ",
                               std::chrono::duration_cast<std::chrono::seconds>(time).count(),
                               " s it is given nothing that others can hold"));
}

void Fleet::BecomeSteady(ServerIndex id) {
  agenda_.MarkServerDirty(id);
  agenda_.BalanceAnew();
}

void Fleet::AdoptLastLife(ServerIndex id, const StoredServer& stored) {
  Server& server = state_.tables.server(id);
  server.incarnation = stored.last_life;
  server.planned.forgotten = stored.forgotten;
  const bool known = !stored.last_place.region.empty();
  if (known && !Planted(Defect::kForgetsWhereTheyStood)) Place(server, stored.last_place);
}

void Fleet::Place(Server& server, const FaultDomain& at) {
  server.location.fault_domain = at;
  server.region = DomainNumber(at.region);
  server.datacenter = DomainNumber(at.region, at.datacenter);
  server.rack = DomainNumber(at.region, at.datacenter, at.rack);
}

void Fleet::On(ServerForgotten& event) {
  const ServerIndex id = state_.tables.FindServer(event.server);
  if (!id.valid()) return;
  Server& server = state_.tables.server(id);
  if (server.state == ServerState::kLive || !server.replicas.empty()) return;
  server.planned.forgotten = true;
  server.registration_version = event.registration_version;
  state_.failures.quarantine.Restarted(id);
  state_.failures.holds.Restarted(id);
  agenda_.AddNote(NoteKind::kServerForgotten, id, ShardIndex(),
                  "an operator says that it does not come back");
}

void Fleet::LoseServer(ServerIndex id, bool departed) {
  Server& server = state_.tables.server(id);
  if (server.state == ServerState::kLive && !server.reported) publication_.Reported();
  ForgetContacts(id);
  // It will not get ready: what counts it as under way would wait for ever.
  for (ReplicaIndex r : server.replicas) moves_.Settle(r);
  server.state = departed ? ServerState::kDeparted : ServerState::kLost;
  server.lost_at = state_.now;
  const bool planned = server.planned.away_until > state_.now;
  if (!departed && !planned) server.steadiness.Lost(state_.now);
  const NoteKind kind = departed ? NoteKind::kServerDeparted : NoteKind::kServerLost;
  if (server.record_unread) {
    agenda_.AddNote(kind, id, ShardIndex(), "no failover: its assignment record cannot be read");
    return;
  }
  server.failover_at = FailoverTime(server);
  const Duration delay = server.failover_at - state_.now;
  agenda_.AddNote(
      kind, id, ShardIndex(),
      absl::StrCat(server.replicas.size(), " replicas; failover in ",
                   std::chrono::duration_cast<std::chrono::milliseconds>(delay).count(), " ms"));
  agenda_.SetTimer(delay, TimerKind::kFailover, id.index());
  AwaitLastResort(id);
}

// Of a server that said good-bye the replicas go at once; one that may lack something is not made
// the primary in its place before it could be back.
void Fleet::AwaitLastResort(ServerIndex id) {
  const Server& server = state_.tables.server(id);
  const TimePoint when = LastResortAt(state_, server);
  if (!state_.replication.both_roles() || when <= std::max(state_.now, server.failover_at)) return;
  agenda_.SetTimer(when - state_.now, TimerKind::kFailover, id.index());
}

// A server that is away as planned is waited for, whether it said good-bye or not.
TimePoint Fleet::FailoverTime(const Server& server) const {
  const bool planned = server.planned.away_until > server.lost_at;
  const bool departed = server.state == ServerState::kDeparted && !planned;
  const Duration delay = departed ? Duration(0) : FailoverDelay(state_);
  return std::max(server.lost_at, server.planned.away_until) + delay;
}

void Fleet::UpdateFailover(ServerIndex id) {
  Server& server = state_.tables.server(id);
  const bool lost = server.state == ServerState::kLost || server.state == ServerState::kDeparted;
  if (!lost || server.record_unread) return;
  const TimePoint when = FailoverTime(server);
  if (!server.failing_over && std::exchange(server.failover_at, when) != when) {
    agenda_.SetTimer(std::max(Duration(0), when - state_.now), TimerKind::kFailover, id.index());
  }
  AwaitLastResort(id);
}

// Whatever was asked of the server, or heard from it, belonged to another life.
void Fleet::ForgetContacts(ServerIndex id) {
  Server& server = state_.tables.server(id);
  for (ReplicaIndex r : server.replicas) {
    Replica& replica = state_.tables.replica(r);
    replica.contact = Contact::kIdle;
    replica.failures = 0;
    replica.role_changed = false;
    if (replica.role == Role::kPrimary) members_.ForgetMembers(replica.shard);
    agenda_.MarkPublish(replica.shard);
    agenda_.MarkDirty(replica.shard);
  }
  server.serving = 0;
  server.reported = true;
  if (server.record_unread) unread_.SetUnreadMembers({id, server.incarnation}, {});
}

void Fleet::AskForReport(ServerIndex id) {
  Server& server = state_.tables.server(id);
  ++server.reports_out;
  agenda_.Do(Collect{id, server.incarnation});
}

// Held there, but not assigned: leftovers of a failover.
void Fleet::DropStrays(const ServerReport& report) {
  if (state_.tables.server(report.server).record_unread) return;  // nobody knows what is assigned
  for (const HeldReplica& h : report.held) {
    const ShardIndex shard = state_.tables.InternShard(h.shard);
    if (state_.tables.FindReplica(shard, report.server).valid()) continue;
    agenda_.Send({report.server, CommandKind::kDrop, {shard, Role::kPrimary, h.epoch}});
  }
}

Duration Fleet::LookInterval() const {
  return Milliseconds(state_.spec.moves().collect_interval_ms());
}

// Not all in one moment, when a whole fleet has come in one moment.
void Fleet::SetFirstLook(ServerIndex id) {
  constexpr uint32_t kParts = 16;
  const Duration later = LookInterval() / 2 * (id.index() % kParts) / kParts;
  agenda_.SetTimer(LookInterval() - later, TimerKind::kLook, id.index());
}

void Fleet::RestartLooks() {
  looks_since_ = agenda_.timers().order();
  for (const ServerIndex id : state_.tables.servers()) {
    Server& server = state_.tables.server(id);
    server.look_timer = server.state == ServerState::kLive;
    if (server.look_timer) SetFirstLook(id);
  }
}

void Fleet::GiveUp(ServerIndex id) {
  Server& server = state_.tables.server(id);
  const bool due = server.state != ServerState::kLive && state_.now >= server.failover_at &&
                   !server.record_unread && !PlacesNothing(state_);
  if (!due) return;
  agenda_.MarkServerDirty(id);
  if (std::exchange(server.failing_over, true)) return;
  if (!server.replicas.empty()) {
    agenda_.AddNote(NoteKind::kFailoverStarted, id, ShardIndex(),
                    absl::StrCat(server.replicas.size(), " replicas"));
  }
  // Its fault domain is free again for what it had, and for nothing else.
  for (ReplicaIndex r : server.replicas) state_.missing.Retry(state_.tables.replica(r).shard);
}

void Fleet::LookAgain(const Timer& timer) {
  if (timer.order < looks_since_) return;
  Server& server = state_.tables.server(ServerIndex(timer.id));
  server.look_timer = server.state == ServerState::kLive;
  if (!server.look_timer) return;  // the next life sets its own
  if (!server.life_unread) AskForReport(ServerIndex(timer.id));
  agenda_.SetTimer(LookInterval(), TimerKind::kLook, timer.id);
}

uint32_t Fleet::DomainNumber(const std::string& region, const std::string& datacenter,
                             const std::string& rack) {
  return domains_.Intern(absl::StrCat(region, "\n", datacenter, "\n", rack)).index() + 1;
}

void Fleet::On(ServerUp& event) {
  const ServerIndex id = state_.tables.InternServer(event.life.name);
  const Server& server = state_.tables.server(id);
  if (server.state == ServerState::kLive && server.incarnation >= event.life.incarnation) return;
  if (server.state == ServerState::kLive) LoseServer(id, /*departed=*/false);
  AdoptLife(id, event.life);
}

void Fleet::On(ServerDown& event) {
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

bool Fleet::On(ServerReport& event) {
  Server& server = state_.tables.server(event.server);
  if (server.state != ServerState::kLive || server.incarnation != event.incarnation) return false;
  if (server.reports_out > 0) --server.reports_out;
  if (server.record_unread && event.ok) unread_.AdoptReported(event);
  // Each shard is looked at, but only what differs makes the balance worth a look.
  const bool rested = state_.balance.at_rest;
  agenda_.MarkServerDirty(event.server);
  state_.balance.at_rest = rested;
  if (!std::exchange(server.reported, true)) publication_.Reported();
  if (!event.ok) return false;  // commands will be tried anyway

  absl::flat_hash_map<ShardIndex, const HeldReplica*> held;
  for (const HeldReplica& h : event.held) held[state_.tables.InternShard(h.shard)] = &h;
  std::vector<double> before;
  for (size_t m = 0; m < state_.loads.metrics.size(); ++m) {
    before.push_back(ServerLoad(state_, event.server, m));
  }
  LoadProblem problem;
  for (ReplicaIndex id : server.replicas) {
    Replica& replica = state_.tables.replica(id);
    auto it = held.find(replica.shard);
    if (it != held.end() && !it->second->load.empty()) {
      load_book_.RecordLoads(id, *it->second, problem);
    }
    if (it != held.end()) demand_book_.Record(replica.shard, *it->second);
    const bool serves =
        it != held.end() && it->second->epoch == replica.epoch && it->second->serving;
    // What it said after it was asked may be newer than this report.
    const bool told_since = replica.told_since;
    if (server.reports_out == 0) replica.told_since = false;
    if (replica.in_write || replica.phase != Phase::kGranted) continue;
    if (serves && replica.contact == Contact::kIdle) {
      replica.contact = Contact::kDone;
      state_.balance.at_rest = false;
      commander_.AddDone(id);
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
  load_book_.RecordCapacities(event.server, event.capacity, problem);
  load_book_.NoteLoadProblem(event.server, problem);
  DropStrays(event);
  return true;
}

}  // namespace shardmanager::orchestrator
