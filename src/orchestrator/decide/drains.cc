#include "orchestrator/decide/drains.h"

#include <algorithm>

#include "model/drain.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// Takes all its replicas, and not only their roles.
bool Empties(const PartitionState& state, const v1::Drain& drain) {
  return !drain.primaries_only() || !state.replication.secondaries;
}

void Merge(const ServerOrder& other, ServerOrder& order) {
  order.closed |= other.closed;
  order.leaving.primaries |= other.leaving.primaries;
  order.leaving.secondaries |= other.leaving.secondaries;
  order.avoid |= other.avoid;
  order.away_until = std::max(order.away_until, other.away_until);
}

}  // namespace

const v1::Drain* DrainOf(const PartitionState& state, ServerIndex id) {
  const auto covers = [&](const v1::Drain& drain) {
    return Empties(state, drain) && Covers(drain.scope(), state.tables.name(id),
                                           state.tables.server(id).location.fault_domain);
  };
  const std::vector<v1::Drain>& drains = state.ordered.drains;
  const auto found = std::find_if(drains.begin(), drains.end(), covers);
  return found == drains.end() ? nullptr : &*found;
}

std::string OperationBehind(const PartitionState& state, ServerIndex from) {
  const Server& server = state.tables.server(from);
  if (!server.draining && !server.sheds_primaries) return "";
  for (const v1::Drain& drain : state.ordered.drains) {
    if (Covers(drain.scope(), state.tables.name(from), server.location.fault_domain)) {
      return drain.operation();
    }
  }
  if (const PlannedMaintenance* maintenance = MaintenanceOf(state, from)) {
    return maintenance->notice.id();
  }
  const ServerOrder* order = OperationsOrder(state, from);
  return order == nullptr ? "" : order->operation;
}

bool IsIn(const PartitionState& state, const PlannedMaintenance& maintenance, ServerIndex id) {
  return Covers(maintenance.notice.scope(), state.tables.name(id),
                state.tables.server(id).location.fault_domain);
}

const PlannedMaintenance* MaintenanceOf(const PartitionState& state, ServerIndex id) {
  const PlannedMaintenance* first = nullptr;
  for (const PlannedMaintenance& maintenance : state.ordered.maintenances) {
    const MaintenanceStage stage = StageOf(maintenance, state.leaving, state.now);
    if (stage == MaintenanceStage::kAhead || stage == MaintenanceStage::kOver) continue;
    if (!IsIn(state, maintenance, id)) continue;
    if (first == nullptr || maintenance.start < first->start) first = &maintenance;
  }
  return first;
}

const ServerOrder* OperationsOrder(const PartitionState& state, ServerIndex id) {
  const std::string& name = state.tables.name(id);
  const auto found = std::lower_bound(
      state.orders.begin(), state.orders.end(), name,
      [](const ServerOrder& order, const std::string& server) { return order.server < server; });
  return found == state.orders.end() || found->server != name ? nullptr : &*found;
}

std::optional<ServerOrder> OrderOf(const PartitionState& state, ServerIndex id) {
  std::optional<ServerOrder> order;
  if (const ServerOrder* of_operations = OperationsOrder(state, id)) order = *of_operations;
  for (const PlannedMaintenance& maintenance : state.ordered.maintenances) {
    const ServerOrder asked = OrderAt(maintenance, state.leaving, state.now);
    if (asked == ServerOrder() || !IsIn(state, maintenance, id)) continue;
    if (!order) order.emplace().server = state.tables.name(id);
    Merge(asked, *order);
  }
  return order;
}

TimePoint OverdueAt(const PartitionState& state, const ServerOrder& order) {
  if (order.away_until == TimePoint::min()) return kNever;
  return order.away_until + FailoverDelay(state);
}

}  // namespace shardmanager::orchestrator
