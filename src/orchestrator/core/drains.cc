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

// A server that is to be no primary, and keeps its replicas otherwise.
void Drains::UpdateShedding(ServerIndex id) {
  Server& server = state_.tables.server(id);
  const bool sheds =
      std::any_of(state_.drains.begin(), state_.drains.end(), [&](const v1::Drain& drain) {
        return Covers(drain.scope(), state_.tables.name(id), server.fault_domain);
      });
  if (std::exchange(server.sheds_primaries, sheds) == sheds || !state_.replication.both_roles())
    return;
  server.drain_since = state_.now;
  agenda_.MarkServerDirty(id);
}

void Drains::UpdateDrain(ServerIndex id) {
  UpdateShedding(id);
  Server& server = state_.tables.server(id);
  const v1::Drain* drain = DrainOf(state_, id);
  if (server.draining == (drain != nullptr)) return;
  server.draining = drain != nullptr;
  server.drain_since = state_.now;
  server.drain_replicas = static_cast<uint32_t>(server.replicas.size());
  state_.balance.at_rest = false;
  agenda_.LookAtBalance();
  agenda_.RetryUnplaceable();
  agenda_.AddNote(drain != nullptr ? NoteKind::kDrainStarted : NoteKind::kDrainEnded, id,
                  ShardIndex(),
                  absl::StrCat(Counted(server.replicas.size(), "replica"), " there",
                               drain == nullptr || drain->reason().empty() ? "" : ": ",
                               drain == nullptr ? "" : drain->reason()));
  NoteDrained(id);
}

void Drains::NoteDrained(ServerIndex id) {
  const Server& server = state_.tables.server(id);
  if (!server.draining || !server.replicas.empty()) return;
  agenda_.AddNote(NoteKind::kDrained, id, ShardIndex(), "it is empty, and is given nothing");
}

}  // namespace shardmanager::orchestrator
