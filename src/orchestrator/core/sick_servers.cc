#include "orchestrator/core/sick_servers.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "base/defect.h"
#include "orchestrator/decide/failures.h"

namespace shardmanager::orchestrator {

void SickServers::NoteAddFailed(const Replica& replica, const std::string& error) {
  const Servers failed = FailedAt(state_, replica.shard);
  const bool elsewhere = std::any_of(failed.begin(), failed.end(),
                                     [&](ServerIndex id) { return id != replica.server; });
  if (elsewhere || Planted(Defect::kTrustsSickServers)) return;
  const ServerIndex server = replica.server;
  const bool suspect = state_.failures.quarantine.Failed(server, replica.shard, state_.now, error);
  if (!suspect) return;
  const bool others_can =
      MostServersAreWell(state_) || state_.failures.quarantine.OthersCan(server);
  if (!state_.failures.quarantine.IsSick(server) && !others_can) return;
  state_.failures.quarantine.Begin(server, state_.now);
  const Quarantine::Case& found = *state_.failures.quarantine.Find(server);
  agenda_.SetTimer(found.trial_at - state_.now, TimerKind::kTrial, server.index());
  agenda_.AddNote(NoteKind::kServerQuarantined, server, ShardIndex(),
                  absl::StrFormat("it gets nothing new, and is tried with one shard in %.0f s: %s",
                                  InSeconds(found.trial_at - state_.now), error));
  agenda_.MarkServerDirty(server);  // what it cannot add goes elsewhere
}

void SickServers::NoteAdded(ServerIndex server) {
  if (state_.failures.quarantine.Added(server, state_.now)) {
    EndQuarantine(server, "it has added a shard");
  }
}

void SickServers::On(QuarantineLifted& event) {
  const ServerIndex server = state_.tables.FindServer(event.server);
  if (server.valid() && state_.failures.quarantine.Lift(server)) {
    EndQuarantine(server, "an operator lifted it");
  }
}

void SickServers::EndQuarantine(ServerIndex server, const char* why) {
  agenda_.AddNote(NoteKind::kQuarantineEnded, server, ShardIndex(), why);
  agenda_.LookForPlaces();
}

}  // namespace shardmanager::orchestrator
