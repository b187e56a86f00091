#include "taskcontroller/core/orders.h"

#include <algorithm>
#include <map>
#include <string>

namespace shardmanager::taskcontroller {
namespace {

void Merge(const HeldOperations& held, std::map<std::string, ServerOrder>& orders) {
  for (const auto& [key, operation] : held) {
    ServerOrder& order = orders[operation.info.server];
    order.closed = true;
    order.leaving.primaries |= operation.leaving.primaries;
    order.leaving.secondaries |= operation.leaving.secondaries;
    const bool leaves = operation.leaving.primaries || operation.leaving.secondaries;
    if (leaves && order.operation.empty()) order.operation = key.id;
    const bool returns = operation.info.kind != v1::STOP;
    if (operation.stage == HeldStage::kBegun && returns) {
      order.away_until = std::max(order.away_until, operation.since + operation.info.expected);
    }
  }
}

}  // namespace

std::vector<ServerOrder> OrdersOf(const HeldOperations& held, const HeldOperations& next,
                                  const ReportBook& reports, TimePoint now) {
  std::map<std::string, ServerOrder> by_server;
  for (const auto& [name, manager] : reports.managers()) {
    if (reports.IsSilent(name, now)) continue;
    for (const auto& [id, wanted] : manager.operations) {
      if (wanted.reported.NeedsApproval()) by_server[wanted.reported.info.server].avoid = true;
    }
  }
  Merge(held, by_server);
  HeldOperations written = next;
  for (auto& [key, operation] : written) {
    if (!held.contains(key)) operation.leaving = {};
  }
  Merge(written, by_server);
  std::vector<ServerOrder> orders;
  orders.reserve(by_server.size());
  for (auto& [server, order] : by_server) {
    order.server = server;
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace shardmanager::taskcontroller
