#include "whatif/imagined_cell.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/state_machine.h"
#include "model/load.h"
#include "orchestrator/describe/status.h"
#include "whatif/states.h"

namespace shardmanager::whatif {
namespace {

using orchestrator::CommandResult;
using orchestrator::ComputePlan;
using orchestrator::Event;
using orchestrator::Grant;
using orchestrator::MetricAmount;
using orchestrator::Persist;
using orchestrator::PlanReady;
using orchestrator::SendCommands;
using orchestrator::ServerReport;
using orchestrator::StoredServer;
using orchestrator::WriteDone;
using orchestrator::WriteOutcome;

// Above those of all grants in the snapshot.
LeaderEpoch NextLeader(const v1::AppSnapshot& snapshot) {
  uint64_t epoch = 0;
  for (const v1::ShardStatus& shard : snapshot.shards()) {
    for (const v1::ReplicaStatus& replica : shard.replicas()) {
      epoch = std::max<uint64_t>(epoch, replica.epoch());
    }
  }
  return LeaderEpoch((epoch >> 32) + 1);
}

Role RoleOf(const v1::ReplicaStatus& replica) {
  return replica.role() == v1::PRIMARY ? Role::kPrimary : Role::kSecondary;
}

// Of several (one hands over, or was lost and has a successor), the one that is most likely to go
// on.
const v1::ReplicaStatus* PrimaryToKeep(const v1::ShardStatus& shard) {
  constexpr std::array<std::string_view, 6> kBestFirst = {"serving", "demoting",   "loading",
                                                          "failed",  "forwarding", "unreachable"};
  const v1::ReplicaStatus* best = nullptr;
  auto best_rank = kBestFirst.end();
  for (const v1::ReplicaStatus& replica : shard.replicas()) {
    if (replica.role() != v1::PRIMARY) continue;
    const auto rank = std::find(kBestFirst.begin(), kBestFirst.end(), replica.state());
    if (rank < best_rank) best = &replica, best_rank = rank;
  }
  return best;
}

orchestrator::OperatorOrders OrdersOf(const v1::AppSnapshot& snapshot) {
  const v1::AppStatus& app = snapshot.app();
  orchestrator::OperatorOrders orders;
  orders.drains.assign(app.drains().begin(), app.drains().end());
  if (app.has_pause()) orders.pause = app.pause();
  orders.pins.assign(app.pins().begin(), app.pins().end());
  std::map<std::pair<std::string, uint32_t>, std::vector<std::string>> preferred;
  for (const v1::ShardStatus& shard : snapshot.shards()) {
    if (!shard.preference_ordered()) continue;
    preferred[{shard.preferred_region(), shard.preference_weight()}].push_back(shard.shard());
  }
  for (auto& [order, shards] : preferred) {
    std::sort(shards.begin(), shards.end());
    v1::StoredPreferences::Region& added = *orders.preferences.add_regions();
    added.set_region(order.first);
    added.set_weight(order.second);
    added.mutable_shards()->Assign(shards.begin(), shards.end());
  }
  return orders;
}

// What it can carry, where that is not what the spec says for all.
std::vector<MetricAmount> CapacityOf(const v1::AppSpec& spec, const v1::ServerStatus& server) {
  std::vector<MetricAmount> capacity;
  for (const v1::MetricUse& use : server.loads()) {
    for (const v1::Metric& metric : spec.metrics()) {
      const bool own = metric.name() == use.metric() && metric.capacity() != use.capacity();
      if (own && use.capacity() > 0) capacity.push_back({use.metric(), use.capacity()});
    }
  }
  return capacity;
}

}  // namespace

orchestrator::ServerLife LifeOf(const v1::AppSpec& spec, const v1::ServerStatus& server) {
  const v1::FaultDomain& at = server.fault_domain();
  return {.name = server.server(),
          .incarnation = Incarnation(std::max<uint64_t>(1, server.incarnation())),
          .endpoint = server.endpoint().empty() ? "imagined:1" : server.endpoint(),
          .fault_domain = {at.region(), at.datacenter(), at.rack()},
          .capacity = server.capacity(),
          .metric_capacity = CapacityOf(spec, server)};
}

ImaginedCell::ImaginedCell(const v1::AppSnapshot& snapshot, Duration load_time)
    : load_time_(load_time),
      partition_({.leader_epoch = NextLeader(snapshot)}),
      ordered_(OrdersOf(snapshot)),
      shared_metric_(snapshot.app().spec().scaling().metric()) {
  RememberLoads(snapshot);
  RememberDemand(snapshot);
  orchestrator::Recovered recovered{.spec = snapshot.app().spec(), .ordered = ordered_};
  std::map<std::string, StoredServer> stored;
  for (const v1::ServerStatus& server : snapshot.servers()) Store(server, recovered.spec, stored);
  for (const v1::ShardStatus& shard : snapshot.shards()) Store(shard, stored);
  for (auto& [name, server] : stored) recovered.servers.push_back(std::move(server));
  pending_.push_back(std::move(recovered));
  Pump();
}

void ImaginedCell::Store(const v1::ServerStatus& server, const v1::AppSpec& spec,
                         std::map<std::string, StoredServer>& stored) {
  const orchestrator::ServerLife life = LifeOf(spec, server);
  StoredServer& added = stored[server.server()];
  added = {.name = server.server(),
           .registration_version = static_cast<int32_t>(life.incarnation.value()),
           .departed = server.state() == "departed",
           .last_life = life.incarnation,
           .last_place = life.fault_domain};
  if (IsLive(server)) added.live = life;
  servers_[server.server()] = {.incarnation = life.incarnation, .live = IsLive(server)};
}

void ImaginedCell::Store(const v1::ShardStatus& shard,
                         std::map<std::string, StoredServer>& stored) {
  const v1::ReplicaStatus* const primary = PrimaryToKeep(shard);
  for (const v1::ReplicaStatus& replica : shard.replicas()) {
    const auto server = stored.find(replica.server());
    const bool counts = replica.role() == v1::PRIMARY ? &replica == primary : IsThere(replica);
    if (server == stored.end() || !counts) continue;
    const Held held = {ShardEpoch(replica.epoch()), RoleOf(replica)};
    const bool serves = Serves(replica) || replica.state() == "forwarding";
    const bool member = serves && replica.reason() != orchestrator::kNotInStep;
    const auto life = static_cast<uint32_t>(server->second.last_life.value());
    server->second.assignment.push_back(
        {shard.shard(), held.role, held.epoch, Phase::kGranted, member ? life : 0});
    if (serves && server->second.live) servers_.at(replica.server()).held[shard.shard()] = held;
  }
}

// A shard's new replicas carry what those of their role do on average.
void ImaginedCell::RememberLoads(const v1::AppSnapshot& snapshot) {
  for (const v1::ShardStatus& shard : snapshot.shards()) {
    struct Sum {
      double amount = 0;
      int known = 0;
    };
    std::map<std::string, Sum> sums[2];
    for (const v1::ReplicaStatus& replica : shard.replicas()) {
      if (!Serves(replica)) continue;
      ++replicas_before_[shard.shard()];
      for (const v1::MetricUse& use : replica.loads()) {
        Sum& sum = sums[static_cast<size_t>(RoleOf(replica))][use.metric()];
        sum.amount += use.used();
        ++sum.known;
      }
    }
    for (size_t role = 0; role < 2; ++role) {
      const auto& known = sums[role].empty() ? sums[1 - role] : sums[role];
      for (const auto& [metric, sum] : known) {
        loads_[shard.shard()].of_role[role].push_back({metric, sum.amount / sum.known});
      }
    }
  }
}

// Requests go on to come from where they came from, as far as that was known.
void ImaginedCell::RememberDemand(const v1::AppSnapshot& snapshot) {
  constexpr double kRequests = 1'000;  // in each report: enough to decide by
  for (const v1::ShardStatus& shard : snapshot.shards()) {
    if (shard.demand().requests() < shard.demand().requests_needed()) continue;
    for (const v1::ShardDemand::Region& region : shard.demand().regions()) {
      requests_[shard.shard()].push_back(
          {region.region(), static_cast<uint64_t>(kRequests * region.share())});
    }
  }
}

void ImaginedCell::Lose(const std::string& name) {
  Server& server = servers_.at(name);
  if (!server.live) return;
  server.live = false;
  server.held.clear();
  pending_.push_back(orchestrator::ServerDown{name, server.incarnation,
                                              static_cast<int32_t>(server.incarnation.value())});
}

void ImaginedCell::Join(orchestrator::ServerLife life) {
  servers_[life.name] = {.incarnation = life.incarnation, .live = true};
  pending_.push_back(orchestrator::ServerUp{std::move(life)});
}

void ImaginedCell::Apply(const v1::AppSpec& spec, orchestrator::OperatorOrders ordered) {
  ordered_ = std::move(ordered);
  if (spec.has_scaling()) shared_metric_ = spec.scaling().metric();
  pending_.push_back(orchestrator::SpecChanged{spec, /*deleting=*/false, ordered_});
}

void ImaginedCell::Run(Duration time) {
  const TimePoint end = now_ + time;
  Pump();
  for (TimePoint next = NextStep(); next <= end; next = NextStep()) Step(next);
  now_ = end;
}

bool ImaginedCell::RunToRest(Duration quiet, Duration most) {
  const TimePoint end = now_ + most;
  last_step_ = last_served_ = now_;
  Pump();
  NoteServed();
  for (TimePoint next = NextStep(); next <= last_step_ + quiet; next = NextStep()) {
    if (next > end) return false;
    Step(next);
    NoteServed();
  }
  return true;
}

TimePoint ImaginedCell::NextStep() const {
  return later_.empty() ? next_wake_ : std::min(next_wake_, later_.top().due);
}

void ImaginedCell::Step(TimePoint next) {
  now_ = std::max(now_, next);
  if (!later_.empty() && later_.top().due <= now_) return FinishLoads();
  next_wake_ = kNever;
  Carry(partition_.OnAdvance(now_));
  Pump();
}

void ImaginedCell::FinishLoads() {
  last_step_ = now_;
  while (!later_.empty() && later_.top().due <= now_) {
    Later done = later_.top();
    later_.pop();
    Server& server = At(done.result.server);
    if (!server.live || server.incarnation != done.result.incarnation) continue;
    if (done.result.kind == CommandKind::kAdd) {
      server.held[partition_.tables().name(done.result.shard)] = done.held;
    }
    pending_.push_back(std::move(done.result));
  }
  Pump();
}

void ImaginedCell::NoteServed() {
  if (last_step_ != now_) return;  // nothing has changed
  const uint32_t served = orchestrator::DescribeApp(state(), now_).shards_served();
  if (served > served_) last_served_ = now_;
  served_ = served;
}

void ImaginedCell::Pump() {
  while (!pending_.empty()) {
    for (Event& event : std::exchange(pending_, {})) {
      Carry(partition_.OnEvent(now_, std::move(event)));
    }
  }
}

void ImaginedCell::Carry(Output<orchestrator::Action> output) {
  next_wake_ = output.next_wake;
  for (orchestrator::Action& action : output.actions) {
    std::visit(
        Overloaded{
            [&](Persist& persist) {
              last_step_ = now_;
              pending_.push_back(WriteDone{persist.batch, WriteOutcome::kOk, {}});
            },
            [&](SendCommands& commands) { Do(commands); },
            [&](orchestrator::Collect& collect) { Do(collect); },
            [&](ComputePlan& plan) {
              pending_.push_back(PlanReady{plan.id, allocator::Solve(plan.snapshot, plan.options)});
            },
            [](const auto&) {}},
        action);
  }
}

void ImaginedCell::Do(SendCommands& action) {
  last_step_ = now_;
  for (const Grant& grant : action.grants) Obey(action, grant);
}

void ImaginedCell::Obey(const SendCommands& action, const Grant& grant) {
  Server& server = At(action.server);
  const std::string& shard = partition_.tables().name(grant.shard);
  CommandResult result{.kind = action.kind,
                       .server = action.server,
                       .incarnation = action.incarnation,
                       .shard = grant.shard,
                       .epoch = grant.epoch};
  if (!server.live || server.incarnation != action.incarnation) return;  // it answers no more
  const bool has_it = server.held.contains(shard) || server.prepared.contains(shard);
  const bool comes = action.kind == CommandKind::kAdd || action.kind == CommandKind::kPrepareAdd;
  if (comes && !has_it) {
    ++loads_begun_;
    if (action.kind == CommandKind::kPrepareAdd) server.prepared.insert(shard);
    later_.push({now_ + load_time_, ++numbers_, result, {grant.epoch, grant.role}});
    return;
  }
  switch (action.kind) {
    case CommandKind::kAdd:
    case CommandKind::kChangeRole:
      server.prepared.erase(shard);
      server.held[shard] = {grant.epoch, grant.role};
      break;
    case CommandKind::kDrop:
    case CommandKind::kPrepareDrop:
      server.prepared.erase(shard);
      server.held.erase(shard);
      break;
    case CommandKind::kPrepareAdd:
    case CommandKind::kSetMembers:
      break;
  }
  pending_.push_back(std::move(result));
}

void ImaginedCell::Do(orchestrator::Collect& action) {
  const Server& server = At(action.server);
  ServerReport report{.server = action.server, .incarnation = action.incarnation};
  report.ok = server.live && server.incarnation == action.incarnation;
  if (report.ok) {
    for (const auto& [shard, held] : server.held) {
      report.held.push_back({.shard = shard,
                             .epoch = held.epoch,
                             .serving = true,
                             .role = held.role,
                             .load = LoadOf(shard, held.role)});
      const auto requests = requests_.find(shard);
      if (requests != requests_.end()) report.held.back().requests = requests->second;
    }
  }
  pending_.push_back(std::move(report));
}

std::vector<MetricAmount> ImaginedCell::LoadOf(const std::string& shard, Role role) const {
  if (own_loads_) return own_loads_(shard);
  const auto found = loads_.find(shard);
  if (found == loads_.end()) return {};
  std::vector<MetricAmount> loads = found->second.of_role[static_cast<size_t>(role)];
  for (MetricAmount& load : loads) load.amount *= load_factor_ * ShareOf(shard, load.metric);
  return loads;
}

// What scaling.metric measures is shared by the replicas; of other metrics each carries the same
// however many there are.
double ImaginedCell::ShareOf(const std::string& shard, const std::string& metric) const {
  if (metric != shared_metric_) return 1;
  const orchestrator::Tables& tables = state().tables;
  uint32_t held = 0;
  tables.ForEach(tables.FindShard(shard), [&](auto, const orchestrator::Replica& replica) {
    held += replica.phase == Phase::kGranted && replica.contact == orchestrator::Contact::kDone;
  });
  const auto before = replicas_before_.find(shard);
  if (held == 0 || before == replicas_before_.end()) return 1;
  return static_cast<double>(before->second) / held;
}

ImaginedCell::Server& ImaginedCell::At(ServerIndex server) {
  return servers_.at(partition_.tables().name(server));
}

v1::AppSnapshot ImaginedCell::Snapshot() const {
  v1::AppSnapshot snapshot;
  *snapshot.mutable_app() = orchestrator::DescribeApp(state(), now_);
  for (v1::ServerStatus& server : orchestrator::DescribeServers(state(), now_, "")) {
    *snapshot.add_servers() = std::move(server);
  }
  for (v1::ShardStatus& shard : orchestrator::DescribeShards(state(), "")) {
    *snapshot.add_shards() = std::move(shard);
  }
  return snapshot;
}

}  // namespace shardmanager::whatif
