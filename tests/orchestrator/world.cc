#include "tests/orchestrator/world.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "model/spec/spec_validation.h"
#include "orchestrator/decide/published.h"
#include "orchestrator/decide/waits.h"
#include "orchestrator/describe/servers.h"
#include "orchestrator/describe/waits.h"
#include "orchestrator/state/record_size.h"
#include "shardmanager/v1/stored.pb.h"
#include "tests/orchestrator/origins.h"

namespace shardmanager::orchestrator {
namespace {

bool Lists(const World::AppServer& server, const std::string& shard) {
  return std::any_of(server.record.begin(), server.record.end(),
                     [&](const StoredReplica& r) { return r.shard == shard; });
}

void LookAtReturns(World& world) {
  const auto lists = [&](const std::string& shard, const std::string& server) {
    return Lists(world.servers.at(server), shard);
  };
  const auto lives = [&](const std::string& server) { return world.servers.at(server).live; };
  world.watcher.returns.Look(world.now, lists, lives);
  const bool none = world.watcher.returns.found().empty();
  EXPECT_TRUE(none || Planted(Defect::kBouncesBack)) << world.watcher.returns.found().front();
}

}  // namespace

std::string WaitsOfAll(World& world) {
  std::string all;
  for (const LayoutShard& shard : world.partition().state().layout) {
    for (const std::string& wait : world.WaitsOf(shard.id.value())) {
      absl::StrAppend(&all, wait, "\n");
    }
  }
  return all;
}

size_t HeldByAll(const World& world) {
  size_t held = 0;
  for (const auto& [name, count] : world.Counts()) held += count;
  return held;
}

v1::AppSpec TestSpec(int shards, v1::ReplicationStrategy strategy, uint32_t replicas) {
  v1::AppSpec spec;
  spec.set_name("kv");
  for (int i = 0; i < shards; ++i) {
    spec.mutable_key_space()->add_shards()->set_id(absl::StrCat("s-", i));
  }
  spec.mutable_replication()->set_strategy(strategy);
  spec.mutable_replication()->set_replicas(replicas);
  return WithDefaults(spec);
}

World::World(v1::AppSpec spec, uint64_t leader_epoch, uint32_t epochs_given)
    : spec_(std::move(spec)), leader_epoch_(leader_epoch) {
  partition_.emplace(
      PartitionOptions{.leader_epoch = LeaderEpoch(leader_epoch), .epochs_given = epochs_given});
}

void World::Start() {
  Recovered recovered{.spec = spec_, .deleting = deleting_, .ordered = ordered};
  for (const auto& [name, server] : servers) {
    StoredServer stored{.name = name,
                        .registration_version = static_cast<int32_t>(server.incarnation.value()),
                        .departed = server.departed,
                        .forgotten = server.forgotten,
                        .last_life = server.incarnation,
                        .last_place = server.at,
                        .unread = server.record_damaged};
    if (!server.record_damaged) stored.assignment = server.record;
    if (server.live) stored.live = LifeOf(name);
    recovered.servers.push_back(stored);
  }
  Send(std::move(recovered));
}

void World::Restart() {
  writes.clear();
  plans.clear();
  queue_.clear();
  next_wake_ = kNever;
  stepped_down = false;
  watcher.returns = {};
  partition_.emplace(PartitionOptions{.leader_epoch = LeaderEpoch(++leader_epoch_)});
  Start();
}

ServerLife World::LifeOf(const std::string& name) const {
  const AppServer& server = servers.at(name);
  if (server.life_damaged) {
    return {.name = name, .incarnation = server.incarnation, .unread = true};
  }
  return {.name = name,
          .incarnation = server.incarnation,
          .endpoint = name + ":1",
          .fault_domain = server.at,
          .capacity = server.capacity,
          .metric_capacity = server.metric_capacity,
          .process = name + "-host/7"};
}

void World::Recheck(const std::string& name) {
  const AppServer& server = servers.at(name);
  if (server.live) return Send(ServerUp{LifeOf(name)});
  Send(ServerDown{name, server.incarnation, static_cast<int32_t>(server.incarnation.value()),
                  server.departed});
}

void World::Join(const std::string& name, const std::string& region, uint32_t capacity) {
  JoinAt(name, {region, "", ""}, capacity);
}

void World::JoinAt(const std::string& name, const FaultDomain& at, uint32_t capacity) {
  AppServer& server = servers[name];
  server.incarnation = Incarnation(server.incarnation.value() + 1);
  server.live = true;
  server.departed = false;
  server.forgotten = false;
  server.at = at;
  server.capacity = capacity;
  server.held.clear();
  for (const StoredReplica& r : server.record) {
    if (server.record_damaged) break;  // it holds nothing until it can read it
    if (server.sick || server.refuses.contains(r.shard)) continue;  // it cannot load it
    if (r.phase == Phase::kGranted) server.held[r.shard] = {r.epoch, r.role};
    if (r.phase == Phase::kDemoting) server.held[r.shard] = {r.epoch, Role::kSecondary};
  }
  Send(ServerUp{LifeOf(name)});
}

void World::Die(const std::string& name) {
  AppServer& server = servers.at(name);
  server.live = false;
  server.held.clear();
  Send(ServerDown{name, server.incarnation, static_cast<int32_t>(server.incarnation.value())});
}

void World::Depart(const std::string& name) {
  AppServer& server = servers.at(name);
  server.live = false;
  server.departed = true;
  server.held.clear();
  Send(ServerDown{name, server.incarnation, static_cast<int32_t>(server.incarnation.value()),
                  /*departed=*/true});
}

void Forget(World& world, const std::string& name) {
  const auto found = world.servers.find(name);
  if (found == world.servers.end() || found->second.live) return;
  found->second.forgotten = true;
  world.Send(ServerForgotten{name, static_cast<int32_t>(found->second.incarnation.value())});
}

void World::Apply(v1::AppSpec spec, bool deleting) {
  spec_ = std::move(spec);
  deleting_ = deleting;
  std::erase_if(members, [&](const auto& shard) { return IsOver(shard.first); });
  std::erase_if(reachable, [&](const std::string& shard) { return IsOver(shard); });
  Send(SpecChanged{spec_, deleting, ordered});
}

// (Of what is to be replaced, it is remembered until the end who was in step with it.)
bool World::IsOver(const std::string& shard) const {
  const auto names = [&](const auto& shards) {
    return std::any_of(shards.begin(), shards.end(),
                       [&](const v1::Shard& s) { return s.id() == shard; });
  };
  const bool replaced = std::any_of(ordered.reshapes.begin(), ordered.reshapes.end(),
                                    [&](const v1::Reshape& r) { return names(r.from()); });
  return deleting_ || (!names(spec_.key_space().shards()) && !replaced);
}

void World::Send(Event event) {
  queue_.push_back(std::move(event));
  if (std::exchange(pumping_, true)) return;
  while (!queue_.empty()) {
    Event next = std::move(queue_.front());
    queue_.pop_front();
    if (watcher.hears) watcher.hears(next);
    Carry(partition_->OnEvent(now, std::move(next)));
    if (check_every_step) CheckInvariants();
  }
  pumping_ = false;
}

void World::Advance(Duration time) {
  const TimePoint end = now + time;
  while (next_wake_ <= end) {
    now = std::max(now, next_wake_);
    next_wake_ = kNever;
    pumping_ = true;
    Carry(partition_->OnAdvance(now));
    pumping_ = false;
    if (!queue_.empty()) {
      Event next = std::move(queue_.front());
      queue_.pop_front();
      Send(std::move(next));
    }
  }
  now = end;
}

void World::Carry(Output<Action> output) {
  for (Action& action : output.actions) {
    EXPECT_FALSE(stepped_down) << "a deposed leader goes on";
    if (watcher.asks) watcher.asks(action);
    std::visit([this](auto& a) { Do(a); }, action);
  }
  next_wake_ = output.next_wake;
  LookAtReturns(*this);
}

// As the records are before compression, so that it holds whatever the names are.
void World::CheckSize(const Persist& action) const {
  size_t bytes = 0;
  for (const ServerWrite& write : action.writes) {
    v1::AssignmentRecord record;
    record.set_server(partition_->tables().name(write.server));
    for (const ReplicaRecord& r : write.replicas) {
      v1::AssignedReplica* replica = record.add_replicas();
      replica->set_shard(Name(r.shard));
      replica->set_role(r.role == Role::kPrimary ? v1::PRIMARY : v1::SECONDARY);
      replica->set_epoch(r.epoch.value());
      replica->set_phase(v1::GRANTED);
      replica->set_member_life(r.member_life);
    }
    bytes += record.ByteSizeLong();
  }
  EXPECT_LE(bytes, kMostBatchBytes);
}

void World::Do(Persist& action) {
  CheckSize(action);
  if (hold_writes) {
    writes.push_back(std::move(action));
    return;
  }
  StoreWrite(action);
  queue_.push_back(WriteDone{action.batch, WriteOutcome::kOk});
}

void World::StoreWrite(const Persist& action) {
  for (const ServerWrite& write : action.writes) {
    EXPECT_FALSE(servers[partition_->tables().name(write.server)].record_damaged);
    auto& record = servers[partition_->tables().name(write.server)].record;
    record.clear();
    std::set<ShardIndex> shards;
    for (const ReplicaRecord& r : write.replicas) {
      EXPECT_TRUE(shards.insert(r.shard).second) << "twice in one record: " << Name(r.shard);
      record.push_back({Name(r.shard), r.role, r.epoch, r.phase, r.member_life});
    }
  }
}

void World::FinishWrite(WriteOutcome outcome, const std::string& conflict) {
  const Persist write = std::move(writes.front());
  writes.pop_front();
  ServerIndex server = conflict.empty() ? ServerIndex() : partition_->tables().FindServer(conflict);
  if (outcome == WriteOutcome::kTooLarge && !server.valid()) server = write.writes.front().server;
  for (const RegistrationCheck& check : write.checks) {
    const AppServer& checked = servers.at(partition_->tables().name(check.server));
    const bool same = checked.incarnation.value() == static_cast<uint64_t>(check.version);
    if (same || outcome != WriteOutcome::kOk) continue;
    outcome = WriteOutcome::kConflict;
    server = check.server;
  }
  if (outcome == WriteOutcome::kOk) StoreWrite(write);
  Send(WriteDone{write.batch, outcome, server});
  if (outcome == WriteOutcome::kConflict && !stepped_down && recheck) {
    Recheck(partition_->tables().name(server));
  }
}

void World::Do(SendCommands& action) {
  const std::string name = partition_->tables().name(action.server);
  AppServer& server = servers.at(name);
  for (const Grant& grant : action.grants) {
    const std::string shard = Name(grant.shard);
    const bool comes = action.kind == CommandKind::kAdd ||
                       action.kind == CommandKind::kPrepareAdd ||
                       action.kind == CommandKind::kChangeRole;
    const bool sets = action.kind == CommandKind::kSetMembers;
    const bool demoted = action.kind == CommandKind::kChangeRole && grant.role == Role::kSecondary;
    commands.push_back(std::string(ToString(action.kind)) + " " + shard + " " + name);
    CommandResult result{.kind = action.kind,
                         .server = action.server,
                         .incarnation = action.incarnation,
                         .shard = grant.shard,
                         .epoch = grant.epoch};
    if (!server.answers || !server.live || (sets && HasNew(server.brings_for_ever, grant))) {
      result.outcome = CommandOutcome::kUnreachable;
      result.error = "no answer";
    } else if (server.obeys_another) {
      result.outcome = CommandOutcome::kDeposed;
      result.error = "epoch 57 has been seen";
    } else if ((comes && server.refuses.count(shard) > 0) ||
               (server.sick && comes && action.kind != CommandKind::kPrepareAdd) ||
               (sets && server.refuses_members) || (sets && HasNew(server.cannot_bring, grant)) ||
               (demoted && server.stays_primary)) {
      result.outcome = CommandOutcome::kFailed;
      result.error = "disk full";
    } else if (action.kind == CommandKind::kAdd && server.over.contains(shard) &&
               grant.epoch <= server.over[shard]) {
      result.outcome = CommandOutcome::kStale;
      result.error = "it has been dropped";
    } else if (HoldsAny(server, OriginsOf(*this, grant))) {
      result.outcome = CommandOutcome::kFailed;
      result.error = "what it was made of is held here";
    } else if (server.cannot_let_go && server.held.contains(shard) &&
               (action.kind == CommandKind::kDrop || action.kind == CommandKind::kPrepareDrop ||
                (demoted && server.held.at(shard).role == Role::kPrimary))) {
      result.outcome = CommandOutcome::kCalledOff;
      result.error = "requests in flight did not finish in time; the shard stays";
      if (server.tells_epoch) result.serving_epoch = server.held.at(shard).epoch;
    } else {
      Obey(action, grant, server);
    }
    if (!server.heard) {
      result.outcome = CommandOutcome::kUnreachable;
      result.error = "its answer was lost";
    }
    if (action.kind == CommandKind::kAdd && hold_adds) {
      adds.push_back(std::move(result));
    } else {
      queue_.push_back(std::move(result));
    }
  }
}

// The list has one of the servers that is new to the primary.
bool World::HasNew(const std::set<std::string>& of, const Grant& grant) const {
  const auto known = members.find(Name(grant.shard));
  return std::any_of(grant.members.begin(), grant.members.end(), [&](ServerIndex id) {
    const std::string& name = partition_->tables().name(id);
    const std::pair member(name, servers.at(name).incarnation.value());
    const bool in_step = known != members.end() && known->second.contains(member);
    return of.contains(name) && !in_step;
  });
}

void World::Obey(const SendCommands& action, const Grant& grant, AppServer& server) {
  const std::string shard = Name(grant.shard);
  const auto held = server.held.find(shard);
  const bool comes = action.kind == CommandKind::kAdd || action.kind == CommandKind::kChangeRole;
  if (comes && held != server.held.end() && held->second.epoch == grant.epoch) return;
  if (!grant.members.empty() && !IsOver(shard)) {
    CheckBegins(shard, partition_->tables().name(action.server));
    TakeMembers(shard, grant, comes);
  }
  switch (action.kind) {
    case CommandKind::kAdd:
    case CommandKind::kChangeRole:
      server.held[shard] = {grant.epoch, grant.role};
      return;
    case CommandKind::kDrop:
    case CommandKind::kPrepareDrop:
      server.held.erase(shard);
      return;
    case CommandKind::kPrepareAdd:
    case CommandKind::kSetMembers:
      return;
  }
}

void World::TakeMembers(const std::string& shard, const Grant& grant, bool elected) {
  const Members old = std::exchange(members[shard], {});
  for (ServerIndex id : grant.members) {
    const std::string& name = partition_->tables().name(id);
    const auto known = std::find_if(old.begin(), old.end(),
                                    [&](const auto& member) { return member.first == name; });
    const bool stays = !elected && known != old.end();
    members[shard].insert({name, stays ? known->second : servers.at(name).incarnation.value()});
  }
}

// REQUIRES: before the members that it is told are noted.
void World::CheckBegins(const std::string& shard, const std::string& server) const {
  const auto last = members.find(shard);
  if (last == members.end() || !reachable.contains(shard)) return;
  if (unclean.contains(shard) || spec_.replication().quorum()) return;
  EXPECT_TRUE(last->second.contains({server, servers.at(server).incarnation.value()}))
      << server << " is the primary of " << shard << " and was not in step in this life";
}

void World::FinishAdds() {
  for (CommandResult& result : std::exchange(adds, {})) Send(std::move(result));
}

void World::Do(Collect& action) {
  if (hold_collects) return collects.push_back(action);
  const std::string& name = partition_->tables().name(action.server);
  const AppServer& server = servers.at(name);
  ServerReport report{.server = action.server,
                      .incarnation = action.incarnation,
                      .ok = server.answers && server.live};
  for (const auto& [shard, held] : server.held) {
    report.held.push_back(
        {.shard = shard, .epoch = held.epoch, .serving = true, .role = held.role});
    if (load) report.held.back().load = load(shard, name);
    if (says.requests) report.held.back().requests = says.requests(shard, name);
  }
  if (says.capacity) report.capacity = says.capacity(name);
  if (says.traffic) says.traffic(name, report);
  queue_.push_back(std::move(report));
}

void World::Do(ComputePlan& action) {
  plans.push_back(std::move(action));
  if (hold_plans) return;
  const ComputePlan plan = std::move(plans.front());
  plans.pop_front();
  queue_.push_back(PlanReady{plan.id, allocator::Solve(plan.snapshot, plan.options)});
}

void World::FinishPlan() {
  const ComputePlan plan = std::move(plans.front());
  plans.pop_front();
  Send(PlanReady{plan.id, allocator::Solve(plan.snapshot, plan.options)});
}

void World::Do(Note& action) {
  notes.push_back(action);
  if (action.kind == NoteKind::kUncleanPromotion) unclean.insert(Name(action.shard));
  if (action.kind == NoteKind::kMoveStarted) {
    const std::string& to = partition_->tables().name(action.server);
    const bool there = Lists(servers.at(to), Name(action.shard));  // it has not gone there yet
    if (!there) watcher.returns.Announced(now, Name(action.shard), to, action.detail);
  }
}

void World::Do(Publish&) {
  ++publishes;
  if (check_every_step) NoteReachable();
}

void World::NoteReachable() {
  for (const LayoutShard& shard : partition_->state().layout) {
    const ShardIndex id = partition_->tables().FindShard(shard.id.value());
    for (const orchestrator::Published& p : PublishedReplicas(partition_->state(), id)) {
      if (p.role == Role::kPrimary) reachable.insert(shard.id.value());
    }
  }
}

size_t World::NoteCount(NoteKind kind) const {
  return static_cast<size_t>(
      std::count_if(notes.begin(), notes.end(), [&](const Note& n) { return n.kind == kind; }));
}

std::vector<std::string> World::Holders(const std::string& shard) const {
  std::vector<std::string> holders;
  for (const auto& [name, server] : servers) {
    if (server.live && server.held.count(shard) > 0) holders.push_back(name);
  }
  return holders;
}

std::vector<std::string> World::Roles(const std::string& shard) const {
  std::vector<std::string> roles;
  for (const auto& [name, server] : servers) {
    const auto held = server.held.find(shard);
    if (!server.live || held == server.held.end()) continue;
    roles.push_back(name + (held->second.role == Role::kPrimary ? "*" : ""));
  }
  return roles;
}

std::vector<std::string> World::Published(const std::string& shard) const {
  std::vector<std::string> names;
  const Tables& tables = partition_->tables();
  for (const auto& [id, role] : PublishedReplicas(partition_->state(), tables.FindShard(shard))) {
    names.push_back(tables.name(tables.replica(id).server) + (role == Role::kPrimary ? "*" : ""));
  }
  return names;
}

std::pair<std::string, std::string> World::DrainState(const std::string& server) const {
  return orchestrator::DrainState(partition_->state(), partition_->tables().FindServer(server),
                                  now);
}

std::string World::Quarantine(const std::string& server) const {
  return QuarantineState(partition_->state(), partition_->tables().FindServer(server), now);
}

std::vector<std::string> World::WaitsOf(const std::string& shard) const {
  const PartitionState& state = partition_->state();
  std::vector<std::string> sentences;
  for (const Wait& wait : orchestrator::WaitsOf(state, state.tables.FindShard(shard), now)) {
    sentences.push_back(Describe(state, wait, now));
  }
  return sentences;
}

size_t World::Served() const {
  size_t served = 0;
  for (size_t i = 0; i < partition_->state().layout.size(); ++i) {
    const ShardIndex shard = partition_->state().map_order[i];
    served += PublishedReplicas(partition_->state(), shard).size() ==
              partition_->tables().shard(shard).wanted;
  }
  return served;
}

std::map<std::string, size_t> World::Counts() const {
  std::map<std::string, size_t> counts;
  for (const auto& [name, server] : servers) {
    if (server.live) counts[name] = server.held.size();
  }
  return counts;
}

void World::CheckInvariants() const {
  std::map<std::string, std::string> primaries;
  for (const auto& [name, server] : servers) {
    if (!server.live) continue;
    for (const auto& [shard, held] : server.held) {
      if (held.role != Role::kPrimary) continue;
      const auto [it, fresh] = primaries.emplace(shard, name);
      EXPECT_TRUE(fresh) << shard << " has two primaries: " << it->second << " and " << name;
    }
  }
  for (const auto& [shard, made_of] : watcher.origins) {
    const auto holder = primaries.find(shard);
    for (const std::string& from : made_of) {
      const auto other = primaries.find(from);
      const bool both = holder != primaries.end() && other != primaries.end();
      EXPECT_FALSE(both) << other->second << " serves " << from << ", and " << holder->second
                         << " serves keys of it as " << shard;
    }
  }
}

}  // namespace shardmanager::orchestrator
