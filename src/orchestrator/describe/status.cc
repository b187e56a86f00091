#include "orchestrator/describe/status.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/pause.h"
#include "model/proto_values.h"
#include "model/text.h"
#include "orchestrator/decide/drains.h"
#include "orchestrator/decide/load/loads.h"
#include "orchestrator/decide/load/scaling.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/decide/unread.h"
#include "orchestrator/decide/view.h"
#include "orchestrator/describe/demand.h"
#include "orchestrator/describe/failover.h"
#include "orchestrator/describe/maintenances.h"
#include "orchestrator/describe/preferences.h"
#include "orchestrator/describe/reshapes.h"
#include "orchestrator/describe/scaling.h"
#include "orchestrator/describe/servers.h"
#include "orchestrator/describe/shards.h"
#include "orchestrator/describe/skew.h"
#include "orchestrator/describe/spread.h"
#include "orchestrator/describe/waits.h"

namespace shardmanager::orchestrator {
namespace {

// Shards that AppStatus.troubles lists.
constexpr size_t kMostTroubles = 10;
// Of a server that can carry nothing; 0 would say that it has no limit.
constexpr double kNoCapacity = 1e-9;

const char* StateName(const Server& server) {
  if (IsFailedOver(server)) return "down";
  switch (server.state) {
    case ServerState::kDown:
      return "down";
    case ServerState::kLive:
      return "live";
    case ServerState::kLost:
      return "lost";
    case ServerState::kDeparted:
      return "departed";
  }
  return "unknown";
}

std::string ServerReason(const PartitionState& state, const Server& server, TimePoint now) {
  if (Mirrors(state)) {
    return server.state != ServerState::kLost
               ? ""
               : absl::StrFormat("down for %.1f s, says the app's own orchestrator",
                                 InSeconds(now - server.lost_at));
  }
  if (server.record_unread) {
    return "its assignment record cannot be read: nothing is given to it or taken from it; see the "
           "app's conditions";
  }
  if (server.life_unread && server.state == ServerState::kLive) {
    return "its live record cannot be read: it cannot be reached; restart it";
  }
  const double ago = InSeconds(now - server.lost_at);
  switch (server.state) {
    case ServerState::kDown:
      return "known by name, no live process seen";
    case ServerState::kLive:
      if (!server.reported) return "waiting for it to say what it holds";
      if (server.unreachable > 0) {
        return absl::StrCat(Counted(server.unreachable, "command"),
                            " in a row did not get through; trying again");
      }
      return "";
    case ServerState::kDeparted:
      return absl::StrFormat("stopped as planned %.1f s ago", ago);
    case ServerState::kLost:
      if (now < server.failover_at) {
        return absl::StrFormat("session expired %.1f s ago; failover in %.1f s", ago,
                               InSeconds(server.failover_at - now));
      }
      return server.replicas.empty()
                 ? absl::StrFormat("session expired %.1f s ago; failed over", ago)
                 : absl::StrCat(absl::StrFormat("session expired %.1f s ago; ", ago),
                                Counted(server.replicas.size(), "replica"), " to be placed anew");
  }
  return "";
}

void AddLoads(const PartitionState& state, const Replica& replica, v1::ReplicaStatus& status) {
  const ReplicaIndex id = state.tables.server(replica.server).replicas[replica.position];
  for (size_t metric = 0; metric < state.loads.metrics.size(); ++metric) {
    if (!state.loads.reported.Knows(id, metric)) continue;
    v1::MetricUse& use = *status.add_loads();
    use.set_metric(state.loads.metrics[metric]);
    use.set_used(state.loads.reported.Of(id, metric));
  }
}

v1::ReplicaStatus DescribeReplica(const PartitionState& state, const Replica& replica) {
  const Tables& tables = state.tables;
  const Server& server = tables.server(replica.server);
  v1::ReplicaStatus status;
  status.set_server(tables.name(replica.server));
  status.set_role(ToProto(replica.role));
  status.set_epoch(replica.epoch.value());
  status.set_reason(ErrorOf(state, replica.shard, replica.server));
  AddLoads(state, replica, status);
  if (replica.phase == Phase::kReserved || replica.phase == Phase::kAbsent) {
    status.set_state("reserved");
    status.set_reason("waiting for the old primary to stop");
  } else if (replica.phase == Phase::kDropping) {
    status.set_state("dropping");
  } else if (server.state == ServerState::kLive && replica.phase == Phase::kPreparing) {
    status.set_state("preparing");
    if (status.reason().empty()) status.set_reason("to take over from the old primary");
  } else if (server.state == ServerState::kLive && replica.phase == Phase::kDemoting) {
    status.set_state("demoting");
    if (status.reason().empty()) status.set_reason("another server is to be the primary");
  } else if (server.state == ServerState::kLive && replica.phase == Phase::kForwarding) {
    status.set_state("forwarding");
    if (status.reason().empty()) status.set_reason("its requests go on to the new primary");
  } else if (server.state != ServerState::kLive) {
    status.set_state("unreachable");
    status.set_reason(absl::StrCat("server is ", StateName(server)));
  } else if (replica.contact == Contact::kDone) {
    status.set_state("serving");
    if (state.replication.both_roles() && !InStep(state, replica)) {
      status.set_reason(kNotInStep);
    }
  } else if (replica.contact == Contact::kRetry) {
    status.set_state("failed");
  } else {
    status.set_state("loading");
    if (Mirrors(state)) status.set_reason("the app's own orchestrator says that it does not serve");
    const int percent = ProgressOf(state, replica.shard, replica.server);
    if (percent >= 0) status.set_reason(absl::StrCat(percent, "% loaded"));
  }
  return status;
}

// Of the replicas that do not serve as they should, the one that says most about why the shard does
// not: one that failed, before one whose server is gone, before one that is on its way; of two
// alike, the primary.
int Tells(const v1::ReplicaStatus& replica) {
  if (replica.state() == "serving" && replica.reason().empty()) return 0;
  const int weight = replica.state() == "failed"        ? 8
                     : replica.state() == "unreachable" ? 6
                     : replica.state() == "serving"     ? 2
                                                        : 4;
  return weight + (replica.role() == v1::PRIMARY ? 1 : 0);
}

std::string ShardReason(const PartitionState& state, ShardIndex shard,
                        const v1::ShardStatus& status) {
  if (const std::optional<WaitReason> why = WhyHeldBack(state, shard)) {
    return Describe(state, {*why}, state.now);
  }
  const v1::ReplicaStatus* tells = nullptr;
  for (const v1::ReplicaStatus& replica : status.replicas()) {
    const int most = tells == nullptr ? 0 : Tells(*tells);
    if (Tells(replica) > most) tells = &replica;
  }
  const std::string unplaceable(UnplaceableReason(state, shard));
  const bool failed = tells != nullptr && tells->state() == "failed";
  if (!unplaceable.empty() && !failed) return unplaceable;
  if (tells != nullptr) {
    return absl::StrCat(tells->state(), " on ", tells->server(),
                        tells->reason().empty() ? "" : absl::StrCat(": ", tells->reason()));
  }
  if (status.replicas().empty()) return "waiting to be placed";
  return state.replication.both_roles() && status.state() == "unserved"
             ? "no replica is the primary"
             : "";
}

void AddServerConditions(const PartitionState& state, TimePoint now, v1::AppStatus& status) {
  const Tables& tables = state.tables;
  if (const std::string mass = MassFailureCondition(state, now); !mass.empty()) {
    status.add_conditions(mass);
  }
  for (const ServerIndex id : tables.servers()) {
    const std::string why = RecordState(state, id, now);
    if (!why.empty()) status.add_conditions(absl::StrCat(tables.name(id), ": ", why));
  }
  for (const ServerIndex id : tables.servers()) {
    const std::string why = QuarantineState(state, id, now);
    if (why.empty()) continue;
    status.add_conditions(absl::StrCat(tables.name(id), " is quarantined: ", why));
  }
  for (std::string& line : MaintenanceConditions(state, now)) {
    status.add_conditions(std::move(line));
  }
  for (std::string& line : RegionConditions(state)) status.add_conditions(std::move(line));
  for (std::string& line : SpreadConditions(state)) status.add_conditions(std::move(line));
  for (std::string& line : ScalingConditions(state)) status.add_conditions(std::move(line));
}

// Of the counts that the status has already.
void AddConditions(const PartitionState& state, const Health& health, TimePoint now,
                   v1::AppStatus& status) {
  if (!state.recovered) status.add_conditions("reading its records from the store");
  if (state.deleting) status.add_conditions("being deleted");
  if (IsMapMissing(state)) {
    status.add_conditions(absl::StrCat(WhyMapIsMissing(state), ": no operation is approved"));
  }
  if (state.ordered.pause) {
    *status.mutable_pause() = *state.ordered.pause;
    status.add_conditions(PauseText(*state.ordered.pause));
  }
  const auto held_back =
      std::count_if(health.unserved.begin(), health.unserved.end(), [&](ShardIndex shard) {
        return ServiceOf(state, shard).serving == 0 && HeldBack(state, shard);
      });
  if (held_back > 0) {
    status.add_conditions(absl::StrCat(Counted(static_cast<size_t>(held_back), "shard"),
                                       " may be on ", UnreadServers(state)));
  }
  if (status.servers_live() == 0 && !IsMapMissing(state)) status.add_conditions("no live servers");
  AddServerConditions(state, now, status);
  if (state.failures.overtaken.leader_is_behind() || state.failures.overtaken.size() > 0) {
    status.add_conditions(absl::StrCat("EpochsBehind: ", kEpochsBehind));
  }
  if (const uint32_t count = health.counts.shards_without_primary(); count > 0) {
    status.add_conditions(
        absl::StrCat(Counted(count, "shard"), " without a primary: what needs one is refused"));
  }
  if (health.replicas_serving < health.replicas_wanted) {
    status.add_conditions(absl::StrCat(health.replicas_wanted - health.replicas_serving, " of ",
                                       health.replicas_wanted, " replicas not serving"));
  }
}

// `app`: TrafficOf(state), which is the same for all shards.
v1::ShardStatus DescribeShardOf(const PartitionState& state, const AppTraffic& app,
                                size_t map_index) {
  const LayoutShard& entry = state.layout[map_index];
  const ShardIndex shard = state.map_order[map_index];
  v1::ShardStatus status;
  status.set_shard(entry.id.value());
  if (entry.has_range) {
    v1::KeyRange* range = entry.hashed ? status.mutable_hash_range() : status.mutable_range();
    range->set_start(entry.start);
    range->set_end(entry.end);
  }
  state.tables.ForEach(shard, [&](ReplicaIndex, const Replica& replica) {
    *status.add_replicas() = DescribeReplica(state, replica);
  });
  if (const v1::Pin* pin = PinOf(state, shard)) *status.mutable_pin() = *pin;
  status.set_preferred_region(PreferredRegionOf(state, map_index));
  status.set_preference_by_demand(IsPreferredByDemand(state, shard));
  status.set_preference_ordered(entry.region_ordered);
  status.set_preference_met(IsPreferenceMet(state, shard));
  if (!status.preferred_region().empty()) status.set_preference_weight(entry.preference_weight);
  if (state.scaling.rules.on) *status.mutable_scaling() = DescribeScaling(state, shard, state.now);
  if (state.demand.rules.on) *status.mutable_demand() = DescribeDemand(state, shard, state.now);
  if (state.tables.shard(shard).replaced) *status.mutable_reshape() = DescribeReshape(state, shard);
  if (v1::ShardTrafficStatus traffic; DescribeTraffic(state, app, shard, &traffic)) {
    *status.mutable_traffic() = std::move(traffic);
  }
  const Service service = ServiceOf(state, shard);
  status.set_state(service.state());
  if (!service.served || service.degraded()) {
    status.set_reason(ShardReason(state, shard, status));
  }
  return status;
}

}  // namespace

v1::ShardStatus DescribeShard(const PartitionState& state, size_t map_index) {
  return DescribeShardOf(state, TrafficOf(state), map_index);
}

v1::MetricUse DescribeUse(const PartitionState& state, ServerIndex server, size_t metric) {
  v1::MetricUse use;
  use.set_metric(state.loads.metrics[metric]);
  use.set_used(ServerLoad(state, server, metric));
  const double capacity = MetricCapacity(state, state.loads.capacity_now, server, metric);
  const double registered = MetricCapacity(state, state.loads.registered, server, metric);
  if (!std::isinf(capacity)) use.set_capacity(std::max(capacity, kNoCapacity));
  if (capacity != registered) use.set_registered(std::isinf(registered) ? 0 : registered);
  return use;
}

v1::AppStatus DescribeApp(const PartitionState& state, TimePoint now) {
  return DescribeApp(state, HealthOf(state), now);
}

v1::AppStatus DescribeApp(const PartitionState& state, const Health& health, TimePoint now) {
  v1::AppStatus status;
  *status.mutable_spec() = state.spec;
  status.set_deleting(state.deleting);
  status.set_moves_in_flight(state.moves.budgets.planned_moves());
  status.set_shards(static_cast<uint32_t>(state.layout.size()));
  status.set_shards_served(status.shards() - health.counts.shards_unserved());
  status.set_replicas_wanted(health.replicas_wanted);
  status.set_replicas_serving(health.replicas_serving);
  for (const ServerIndex id : state.tables.servers()) {
    const Server& server = state.tables.server(id);
    if (server.state == ServerState::kLive) status.set_servers_live(status.servers_live() + 1);
    if (IsListed(state, server)) status.set_servers_known(status.servers_known() + 1);
  }
  status.set_loads_refused(state.loads.refused);
  status.mutable_drains()->Assign(state.ordered.drains.begin(), state.ordered.drains.end());
  status.mutable_pins()->Assign(state.ordered.pins.begin(), state.ordered.pins.end());
  DescribePreferences(state, status);
  if (v1::AppSkew skew; DescribeSkew(state, &skew)) *status.mutable_skew() = std::move(skew);
  *status.mutable_health() = health.counts;
  for (v1::ShardTrouble& trouble : TroublesOf(state, kMostTroubles)) {
    *status.add_troubles() = std::move(trouble);
  }
  AddConditions(state, health, now, status);
  return status;
}

std::vector<v1::ServerStatus> DescribeServers(const PartitionState& state, TimePoint now,
                                              const std::string& only) {
  const Tables& tables = state.tables;
  std::vector<v1::ServerStatus> all;
  for (const ServerIndex id : tables.servers()) {
    const Server& server = tables.server(id);
    if (!IsListed(state, server) || (!only.empty() && tables.name(id) != only)) continue;
    v1::ServerStatus status;
    status.set_server(tables.name(id));
    status.set_state(StateName(server));
    status.set_reason(ServerReason(state, server, now));
    if (server.state == ServerState::kLive) {
      auto [drain, how_far] = DrainState(state, id, now);
      status.set_state(drain);
      if (status.reason().empty()) status.set_reason(std::move(how_far));
      if (std::string why = QuarantineState(state, id, now); !why.empty()) {
        if (status.state() == "live") status.set_state("quarantined");
        status.set_reason(status.reason().empty() ? why : absl::StrCat(status.reason(), "; ", why));
      }
    }
    const PlannedMaintenance* maintenance = MaintenanceOf(state, id);
    if (server.state != ServerState::kLive && maintenance != nullptr) {
      status.set_reason(absl::StrCat(status.reason(), "; ", MaintenanceState(*maintenance, now)));
    }
    if (std::string why = RecordState(state, id, now); !why.empty()) {
      status.set_reason(status.reason().empty() ? why : absl::StrCat(status.reason(), "; ", why));
    }
    status.set_endpoint(server.location.endpoint);
    status.set_process(server.location.process);
    status.set_incarnation(server.incarnation.value());
    status.set_replicas(static_cast<uint32_t>(server.replicas.size()));
    status.set_replicas_serving(server.serving);
    status.set_capacity(server.capacity);
    for (size_t m = 0; m < state.loads.metrics.size(); ++m) {
      *status.add_loads() = DescribeUse(state, id, m);
    }
    status.mutable_fault_domain()->set_region(server.location.fault_domain.region);
    status.mutable_fault_domain()->set_datacenter(server.location.fault_domain.datacenter);
    status.mutable_fault_domain()->set_rack(server.location.fault_domain.rack);
    all.push_back(std::move(status));
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.server() < b.server(); });
  return all;
}

absl::Status ValidateFilter(const v1::GetShardsRequest& request) {
  for (const std::string& state : request.states()) {
    if (state == "serving" || state == "degraded" || state == "unserved") continue;
    return absl::InvalidArgumentError(absl::StrCat("states: found ", ::shardmanager::Quoted(state),
                                                   "; allowed: serving, degraded, unserved"));
  }
  return absl::OkStatus();
}

std::vector<v1::ShardStatus> DescribeShards(const PartitionState& state,
                                            const v1::GetShardsRequest& request) {
  std::vector<v1::ShardStatus> all;
  const AppTraffic app = TrafficOf(state);
  const ServerIndex server = state.tables.FindServer(request.server());
  if (!request.server().empty() && !server.valid()) return all;
  const auto wanted_state = [&](ShardIndex shard) {
    const auto& states = request.states();
    return states.empty() ||
           std::find(states.begin(), states.end(), ServiceOf(state, shard).state()) != states.end();
  };
  for (size_t i = 0; i < state.layout.size(); ++i) {
    const ShardIndex shard = state.map_order[i];
    if (!request.shard().empty() && state.layout[i].id.value() != request.shard()) continue;
    if (server.valid() && !state.tables.FindReplica(shard, server).valid()) continue;
    if (!wanted_state(shard)) continue;
    all.push_back(DescribeShardOf(state, app, i));
    if (request.limit() != 0 && all.size() == request.limit()) break;
  }
  return all;
}

std::vector<v1::ShardStatus> DescribeShards(const PartitionState& state, const std::string& shard) {
  v1::GetShardsRequest request;
  request.set_shard(shard);
  return DescribeShards(state, request);
}

v1::ControlEvent DescribeNote(const PartitionState& state, const Note& note) {
  v1::ControlEvent event;
  event.set_kind(std::string(NameOf(note.kind)));
  if (note.server.valid()) event.set_server(state.tables.name(note.server));
  if (note.shard.valid()) event.set_shard(state.tables.name(note.shard));
  event.set_message(note.detail);
  event.set_operation(note.operation);
  return event;
}

}  // namespace shardmanager::orchestrator
