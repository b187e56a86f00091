#include "orchestrator/describe/maintenances.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/text.h"
#include "orchestrator/decide/drains.h"
#include "orchestrator/decide/maintenance_hits.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/decide/waits.h"
#include "orchestrator/describe/waits.h"

namespace shardmanager::orchestrator {
namespace {

constexpr size_t kMostHits = 10;

// `known`: what is left is known.
const char* StateName(MaintenanceStage stage, uint32_t left, bool known) {
  switch (stage) {
    case MaintenanceStage::kAhead:
      return "ahead";
    case MaintenanceStage::kPreparing:
      return left > 0 || !known ? "preparing" : "ready";
    case MaintenanceStage::kUnderWay:
      return "under-way";
    case MaintenanceStage::kOver:
      return "over";
  }
  return "unknown";
}

TimePoint EndOf(MaintenanceStage stage, const PlannedMaintenance& maintenance,
                const LeavingRules& rules) {
  switch (stage) {
    case MaintenanceStage::kAhead:
      return maintenance.start - rules.prepare();
    case MaintenanceStage::kPreparing:
      return maintenance.start;
    case MaintenanceStage::kUnderWay:
    case MaintenanceStage::kOver:
      return maintenance.end;
  }
  return maintenance.end;
}

// What it loses, and what the shard waits for.
std::string Why(const PartitionState& state, const MaintenanceHit& hit, TimePoint now) {
  std::vector<Wait> waits = WaitsOf(state, hit.shard, now);
  // That nothing can be done is said below, with where to look.
  std::erase_if(waits, [](const Wait& wait) { return wait.reason == WaitReason::kDrainStuck; });
  if (!waits.empty()) return absl::StrCat(hit.what, ": ", Describe(state, waits.front(), now));
  const bool settled = state.balance.at_rest && !state.balance.plan_out;
  if (!hit.server.valid() || !settled) return hit.what;
  return absl::StrCat(hit.what, ": no other server may take it, see `shardctl explain ",
                      state.spec.name(), " ", state.tables.name(hit.shard), "`");
}

void AddHits(const PartitionState& state, const PlannedMaintenance& maintenance, TimePoint now,
             v1::MaintenanceStatus& status) {
  const std::vector<MaintenanceHit> hits = HitsOf(state, maintenance);
  status.set_shards_hit(static_cast<uint32_t>(hits.size()));
  for (size_t i = 0; i < std::min(hits.size(), kMostHits); ++i) {
    v1::MaintenanceHit& shown = *status.add_hits();
    shown.set_shard(state.tables.name(hits[i].shard));
    if (hits[i].server.valid()) shown.set_server(state.tables.name(hits[i].server));
    shown.set_why(Why(state, hits[i], now));
  }
}

v1::MaintenanceStatus StatusOf(const PartitionState& state, const PlannedMaintenance& maintenance,
                               TimePoint now) {
  v1::MaintenanceStatus status;
  const MaintenanceStage stage = StageOf(maintenance, state.leaving, now);
  *status.mutable_maintenance() = maintenance.notice;
  const Leaving leaving = LeavingBefore(maintenance, state.leaving);
  status.set_primaries_leave(state.replication.primaries && leaving.primaries);
  status.set_secondaries_leave(state.replication.secondaries && leaving.secondaries);
  for (const ServerIndex id : state.tables.servers()) {
    if (!IsListed(state, state.tables.server(id)) || !IsIn(state, maintenance, id)) continue;
    status.set_servers(status.servers() + 1);
    const bool live = state.tables.server(id).state == ServerState::kLive;
    status.set_servers_live(status.servers_live() + live);
  }
  if (stage != MaintenanceStage::kOver) {
    status.set_replicas_left(static_cast<uint32_t>(LeftToLeave(state, maintenance)));
    const Duration left = std::max(Duration(0), EndOf(stage, maintenance, state.leaving) - now);
    status.set_left_ms(static_cast<uint64_t>(left / Milliseconds(1)));
  }
  status.set_state(StateName(stage, status.replicas_left(), !IsMapMissing(state)));
  // (Before the preparations begin, all is still there.)
  if (stage == MaintenanceStage::kPreparing || stage == MaintenanceStage::kUnderWay) {
    AddHits(state, maintenance, now, status);
  }
  return status;
}

}  // namespace

std::vector<v1::MaintenanceStatus> DescribeMaintenances(const PartitionState& state, TimePoint now,
                                                        const std::string& id) {
  std::vector<v1::MaintenanceStatus> all;
  for (const PlannedMaintenance& maintenance : state.ordered.maintenances) {
    if (!id.empty() && maintenance.notice.id() != id) continue;
    if (now > maintenance.end + kMaintenanceShown) continue;
    all.push_back(StatusOf(state, maintenance, now));
  }
  return all;
}

std::string MaintenanceState(const PlannedMaintenance& maintenance, TimePoint now) {
  const bool begun = now >= maintenance.start;
  return absl::StrCat(
      MaintenanceText(maintenance.notice), begun ? " is under way for another " : " begins in ",
      absl::StrFormat("%.0f s", InSeconds((begun ? maintenance.end : maintenance.start) - now)));
}

std::vector<std::string> MaintenanceConditions(const PartitionState& state, TimePoint now) {
  std::vector<std::string> lines;
  for (const PlannedMaintenance& maintenance : state.ordered.maintenances) {
    if (now < WarnAt(maintenance, state.leaving) || now >= maintenance.end) continue;
    const size_t hits = HitsOf(state, maintenance).size();
    if (hits == 0) continue;
    lines.push_back(absl::StrCat(MaintenanceState(maintenance, now), ", and hits ",
                                 Counted(hits, "shard"), ": see `shardctl maintenance list ",
                                 maintenance.notice.id(), "`"));
  }
  return lines;
}

}  // namespace shardmanager::orchestrator
