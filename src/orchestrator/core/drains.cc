#include "orchestrator/core/drains.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "model/drain.h"
#include "model/text.h"
#include "orchestrator/decide/drains.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {

void Drains::UpdateOrder(ServerIndex id, const ServerOrder& order) {
  Server& server = state_.tables.server(id);
  const bool closed = order.closed;
  if (std::exchange(server.planned.closed, closed) != closed) {
    state_.balance.at_rest = false;
    agenda_.MarkServerDirty(id);
    if (!closed) agenda_.RetryUnplaceable();
  }
  server.planned.avoided = order.avoid;
  if (std::exchange(server.planned.away_until, order.away_until) == order.away_until) return;
  const ServerOrder* of_operations = OperationsOrder(state_, id);
  const TimePoint overdue = of_operations == nullptr ? kNever : OverdueAt(state_, *of_operations);
  if (overdue > state_.now && overdue != kNever) {
    agenda_.SetTimer(overdue - state_.now, TimerKind::kOrderOverdue, id.index());
  }
}

// A server that is to be no primary, and keeps its replicas otherwise.
void Drains::UpdateShedding(ServerIndex id, const ServerOrder& order) {
  Server& server = state_.tables.server(id);
  const std::vector<v1::Drain>& drains = state_.ordered.drains;
  const bool sheds =
      order.leaving.primaries ||
      std::any_of(drains.begin(), drains.end(), [&](const v1::Drain& drain) {
        return Covers(drain.scope(), state_.tables.name(id), server.location.fault_domain);
      });
  if (std::exchange(server.sheds_primaries, sheds) == sheds || !state_.replication.both_roles())
    return;
  server.drain_begun.at = state_.now;
  agenda_.MarkServerDirty(id);
}

void Drains::UpdateDrain(ServerIndex id) {
  const ServerOrder order = OrderOf(state_, id).value_or(ServerOrder());
  UpdateOrder(id, order);
  UpdateShedding(id, order);
  Server& server = state_.tables.server(id);
  if (server.sheds_primaries || server.planned.closed) {  // no planned change goes there any more
    absl::erase_if(state_.switchovers.to,
                   [&](const auto& planned) { return planned.second == id; });
  }
  const v1::Drain* drain = DrainOf(state_, id);
  const bool draining = drain != nullptr || state_.leaving.Empties(order.leaving);
  if (std::exchange(server.draining, draining) == draining) return;
  server.drain_begun.at = state_.now;
  server.drain_begun.replicas = static_cast<uint32_t>(server.replicas.size());
  agenda_.BalanceAnew();
  agenda_.RetryUnplaceable();
  const PlannedMaintenance* maintenance = MaintenanceOf(state_, id);
  const std::string reason = !draining                ? ""
                             : drain != nullptr       ? drain->reason()
                             : maintenance != nullptr ? MaintenanceText(maintenance->notice)
                                                      : "a container operation is to begin";
  agenda_.AddNote(draining ? NoteKind::kDrainStarted : NoteKind::kDrainEnded, id, ShardIndex(),
                  absl::StrCat(Counted(server.replicas.size(), "replica"), " there",
                               reason.empty() ? "" : ": ", reason),
                  OperationBehind(state_, id));
  NoteDrained(id);
}

void Drains::NoteDrained(ServerIndex id) {
  const Server& server = state_.tables.server(id);
  if (!server.draining || !server.replicas.empty()) return;
  agenda_.AddNote(NoteKind::kDrained, id, ShardIndex(), "it is empty, and is given nothing",
                  OperationBehind(state_, id));
}

}  // namespace shardmanager::orchestrator
