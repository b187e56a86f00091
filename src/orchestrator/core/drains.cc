#include "orchestrator/core/drains.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/drain.h"
#include "model/text.h"
#include "orchestrator/decide/drains.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {

void Drains::AdoptDrains(const std::vector<v1::Drain>& drains) {
  state_.drains = drains;
  for (const ServerIndex id : state_.tables.servers()) UpdateDrain(id);
}

void Drains::AdoptOrders(std::vector<ServerOrder> orders) {
  state_.orders = std::move(orders);
  for (const ServerIndex id : state_.tables.servers()) UpdateDrain(id);
}

void Drains::UpdateOrder(ServerIndex id) {
  Server& server = state_.tables.server(id);
  const ServerOrder* order = OrderOf(state_, id);
  const bool closed = order != nullptr && order->closed;
  if (std::exchange(server.planned.closed, closed) != closed) {
    state_.balance.at_rest = false;
    agenda_.MarkServerDirty(id);
    if (!closed) agenda_.RetryUnplaceable();
  }
  server.planned.avoided = order != nullptr && order->avoid;
  server.planned.away_until = order == nullptr ? TimePoint::min() : order->away_until;
}

// A server that is to be no primary, and keeps its replicas otherwise.
void Drains::UpdateShedding(ServerIndex id) {
  Server& server = state_.tables.server(id);
  const ServerOrder* order = OrderOf(state_, id);
  const bool sheds =
      (order != nullptr && order->leaving.primaries) ||
      std::any_of(state_.drains.begin(), state_.drains.end(), [&](const v1::Drain& drain) {
        return Covers(drain.scope(), state_.tables.name(id), server.location.fault_domain);
      });
  if (std::exchange(server.sheds_primaries, sheds) == sheds || !state_.replication.both_roles())
    return;
  server.drain_since = state_.now;
  agenda_.MarkServerDirty(id);
}

void Drains::UpdateDrain(ServerIndex id) {
  UpdateOrder(id);
  UpdateShedding(id);
  Server& server = state_.tables.server(id);
  const v1::Drain* drain = DrainOf(state_, id);
  const bool draining = drain != nullptr || IsEmptiedForOperation(state_, id);
  if (std::exchange(server.draining, draining) == draining) return;
  server.drain_since = state_.now;
  server.drain_replicas = static_cast<uint32_t>(server.replicas.size());
  state_.balance.at_rest = false;
  agenda_.LookAtBalance();
  agenda_.RetryUnplaceable();
  const std::string reason = drain != nullptr ? drain->reason()
                             : draining       ? "a container operation is to begin"
                                              : "";
  agenda_.AddNote(draining ? NoteKind::kDrainStarted : NoteKind::kDrainEnded, id, ShardIndex(),
                  absl::StrCat(Counted(server.replicas.size(), "replica"), " there",
                               reason.empty() ? "" : ": ", reason));
  NoteDrained(id);
}

void Drains::NoteDrained(ServerIndex id) {
  const Server& server = state_.tables.server(id);
  if (!server.draining || !server.replicas.empty()) return;
  agenda_.AddNote(NoteKind::kDrained, id, ShardIndex(), "it is empty, and is given nothing");
}

}  // namespace shardmanager::orchestrator
