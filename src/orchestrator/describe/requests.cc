#include "orchestrator/describe/requests.h"

#include <algorithm>
#include <string>

#include "orchestrator/decide/supply.h"
#include "orchestrator/describe/servers.h"

namespace shardmanager::orchestrator {
namespace {

v1::AskedOfServer RequestFor(const PartitionState& state, ServerIndex id, TimePoint now) {
  const Server& server = state.tables.server(id);
  v1::AskedOfServer request;
  request.set_server(state.tables.name(id));
  request.set_give_nothing(server.planned.closed || server.draining);
  request.set_primaries_leave(server.sheds_primaries || server.draining);
  request.set_all_leave(server.draining);
  if (server.draining) {
    request.set_replicas_left(static_cast<uint32_t>(server.replicas.size()));
  } else if (server.sheds_primaries) {
    request.set_replicas_left(PrimariesAt(state, id));
  }
  request.set_reason(DrainState(state, id, now).second);
  return request;
}

}  // namespace

v1::SupplyMapResponse DescribeRequests(const PartitionState& state, TimePoint now) {
  v1::SupplyMapResponse response;
  bool soon = false;
  for (const ServerIndex id : state.tables.servers()) {
    const Server& server = state.tables.server(id);
    if (!IsListed(state, server)) continue;
    soon |= server.planned.avoided;  // an operation waits there, and may be prepared any moment
    if (!server.planned.closed && !server.draining && !server.sheds_primaries) continue;
    *response.add_asked() = RequestFor(state, id, now);
    soon |= response.asked().rbegin()->replicas_left() > 0;
  }
  std::sort(response.mutable_asked()->begin(), response.mutable_asked()->end(),
            [](const auto& a, const auto& b) { return a.server() < b.server(); });
  response.set_supply_again_ms(
      static_cast<uint32_t>((soon ? kSupplySoon : kSupplyAgain) / Milliseconds(1)));
  return response;
}

}  // namespace shardmanager::orchestrator
