#include "orchestrator/core/pausing.h"

#include <algorithm>
#include <utility>

#include "model/pause.h"
#include "orchestrator/decide/pause.h"

namespace shardmanager::orchestrator {
namespace {

bool Same(const std::optional<v1::Pause>& a, const std::optional<v1::Pause>& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a || (a->failover() == b->failover() && a->reason() == b->reason() &&
                a->who() == b->who() && a->since_ms() == b->since_ms());
}

}  // namespace

void Pausing::Adopt(const std::optional<v1::Pause>& pause) {
  if (Same(state_.ordered.pause, pause)) return;
  const std::optional<v1::Pause> before = std::exchange(state_.ordered.pause, pause);
  agenda_.AddNote(pause ? NoteKind::kPaused : NoteKind::kResumed, ServerIndex(), ShardIndex(),
                  pause ? PauseText(*pause) : "it was: " + PauseText(*before));
  // What was planned is not carried out later: it would be out of date.
  for (auto& [shard, intents] : state_.moves.intents) {
    intents.erase(std::remove_if(intents.begin(), intents.end(),
                                 [](const Intent& intent) { return intent.from.valid(); }),
                  intents.end());
  }
  absl::erase_if(state_.switchovers.to, [&](const auto& planned) {
    return !state_.switchovers.under_way.contains(planned.first);
  });
  state_.balance.at_rest = false;
  agenda_.LookAtBalance();
  agenda_.RetryUnplaceable();
  agenda_.MarkAllDirty();
  if (PlacesNothing(state_)) return;
  for (const ServerIndex id : state_.tables.servers()) {
    const Server& server = state_.tables.server(id);
    const bool lost = server.state == ServerState::kLost || server.state == ServerState::kDeparted;
    if (!lost || server.failing_over || server.record_unread) continue;
    agenda_.SetTimer(std::max(Duration(0), server.failover_at - state_.now), TimerKind::kFailover,
                     id.index());
  }
}

}  // namespace shardmanager::orchestrator
