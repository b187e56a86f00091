#include "tests/simulation/maintenance_event.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordination/envelope.h"
#include "coordination/paths.h"
#include "model/drain.h"
#include "model/text.h"

namespace shardmanager::simulation {
namespace {

// Are all replicas to leave before? (The rules of the simulation's specs are for restarts only.)
bool AllLeave(const v1::AppSpec& spec, v1::MaintenanceImpact impact) {
  return WantedReplicas(spec) == 1 || impact == v1::FULL_STATE_LOSS || impact == v1::MACHINE_LOSS;
}

}  // namespace

MaintenanceEvent::MaintenanceEvent(Cluster& cluster, Checkers& checkers, v1::DrainScope scope,
                                   std::set<std::string> servers, uint64_t seed)
    : cluster_(cluster),
      checkers_(checkers),
      scope_(std::move(scope)),
      servers_(std::move(servers)),
      random_(seed),
      impact_(static_cast<v1::MaintenanceImpact>(1 + random_.Below(4))) {}

v1::Maintenance MaintenanceEvent::Notice(Duration notice, Duration length) {
  v1::Maintenance maintenance;
  maintenance.set_id("planned");
  *maintenance.mutable_scope() = scope_;
  maintenance.set_impact(impact_);
  maintenance.set_start_ms(cluster_.schedule.WallMs() + notice / Milliseconds(1));
  maintenance.set_end_ms(maintenance.start_ms() + length / Milliseconds(1));
  return maintenance;
}

std::string MaintenanceEvent::Describe() const {
  return absl::StrCat("maintenance of ", ToString(scope_), " (", absl::StrJoin(servers_, ", "),
                      "): ", EnumLabel(impact_));
}

void MaintenanceEvent::Strike(const v1::AppSpec& spec) {
  at_begin_ = AssignedNow();
  for (const std::string& name : servers_) {
    SimServer* server = cluster_.server(name);
    if (server == nullptr) continue;
    for (const v1::Shard& shard : spec.key_space().shards()) {
      const auto right = server->MayServe(shard.id());
      const bool stays = right && right->role == Role::kSecondary && !AllLeave(spec, impact_);
      if (!right || stays) continue;
      checkers_.Violate(absl::StrCat("maintenance: it begins, and ", name, " still serves ",
                                     shard.id(),
                                     right->role == Role::kPrimary ? " as its primary" : ""));
    }
  }
  for (const std::string& name : servers_) {
    if (CutsOff()) {
      cluster_.network.Isolate(name);
    } else {
      cluster_.Kill(name);
    }
  }
}

void MaintenanceEvent::CheckNothingWasGivenUp() {
  const Assigned now = AssignedNow();
  for (const auto& [name, shards] : at_begin_) {
    for (const std::string& shard : shards) {
      if (now.at(name).contains(shard)) continue;
      checkers_.Violate(absl::StrCat("maintenance: ", name, " is away as planned, and ", shard,
                                     " was taken from it"));
    }
  }
}

void MaintenanceEvent::End() {
  for (const std::string& name : servers_) {
    if (CutsOff()) {
      cluster_.network.Rejoin(name);
    } else {
      cluster_.Start(name);
    }
  }
}

MaintenanceEvent::Assigned MaintenanceEvent::AssignedNow() const {
  Assigned assigned;
  for (const std::string& name : servers_) {
    std::set<std::string>& shards = assigned[name];
    const v1::AssignmentRecord record = checkers_.AssignmentOf(name);
    for (const v1::AssignedReplica& replica : record.replicas()) {
      shards.insert(replica.shard());
    }
  }
  return assigned;
}

v1::FaultDomain PlaceOf(Cluster& cluster, const std::string& name) {
  v1::LiveRecord record;
  SimServer* server = cluster.server(name);
  if (server == nullptr) return {};
  const auto node = cluster.store.tree().Get(cluster.store.LiveNode(
      AppName(kApp), ServerName(name), server->incarnation(), cluster.buckets()));
  if (!node.ok() || !Open(node->data, &record).ok()) return {};
  return record.fault_domain();
}

}  // namespace shardmanager::simulation
