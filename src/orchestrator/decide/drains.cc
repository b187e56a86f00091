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

}  // namespace

const v1::Drain* DrainOf(const PartitionState& state, ServerIndex id) {
  const auto covers = [&](const v1::Drain& drain) {
    return Empties(state, drain) && Covers(drain.scope(), state.tables.name(id),
                                           state.tables.server(id).location.fault_domain);
  };
  const auto found = std::find_if(state.drains.begin(), state.drains.end(), covers);
  return found == state.drains.end() ? nullptr : &*found;
}

const ServerOrder* OrderOf(const PartitionState& state, ServerIndex id) {
  const std::string& name = state.tables.name(id);
  const auto found = std::lower_bound(
      state.orders.begin(), state.orders.end(), name,
      [](const ServerOrder& order, const std::string& server) { return order.server < server; });
  return found == state.orders.end() || found->server != name ? nullptr : &*found;
}

bool IsEmptiedForOperation(const PartitionState& state, ServerIndex id) {
  const ServerOrder* order = OrderOf(state, id);
  if (order == nullptr) return false;
  return state.replication.secondaries ? order->leaving.secondaries : order->leaving.primaries;
}

}  // namespace shardmanager::orchestrator
