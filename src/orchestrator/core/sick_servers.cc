#include "orchestrator/core/sick_servers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/defect.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/describe/shunned.h"

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

std::vector<ServerIndex> SickServers::HearClients(const ClientsSay& event) {
  std::vector<ClientTrouble::Seen> seen;
  for (const ClientsSay::Seen& s : event.servers) {
    const ServerIndex id = state_.tables.FindServer(s.server);
    if (!id.valid() || state_.tables.server(id).state != ServerState::kLive) continue;
    seen.push_back({id, s.in_trouble, s.well, s.problem});
  }
  size_t live = 0;
  for (const ServerIndex id : state_.tables.servers()) {
    live += state_.tables.server(id).state == ServerState::kLive;
  }
  ClientTrouble& trouble = state_.failures.by_clients;
  const bool were_too_many = trouble.too_many();
  ClientTrouble::Verdicts verdicts = trouble.Hear(state_.now, seen, live);
  for (const ServerIndex id : verdicts.shun) {
    agenda_.AddNote(NoteKind::kServerShunned, id, ShardIndex(), ShunText(*trouble.Find(id)));
  }
  for (const ServerIndex id : verdicts.try_again) {
    agenda_.AddNote(NoteKind::kShunningEnded, id, ShardIndex(), "it is tried again");
  }
  if (verdicts.too_many && !were_too_many) {
    agenda_.AddNote(NoteKind::kClientsInTrouble, ServerIndex(), ShardIndex(), kTooManyShunned);
  }
  std::vector<ServerIndex> changed = std::move(verdicts.shun);
  changed.insert(changed.end(), verdicts.try_again.begin(), verdicts.try_again.end());
  return changed;
}

void SickServers::ForgetClients(ServerIndex server) {
  if (!state_.failures.by_clients.Restarted(server)) return;
  agenda_.AddNote(NoteKind::kShunningEnded, server, ShardIndex(), "it is a new process");
}

void SickServers::EndQuarantine(ServerIndex server, const char* why) {
  agenda_.AddNote(NoteKind::kQuarantineEnded, server, ShardIndex(), why);
  agenda_.LookForPlaces();
}

}  // namespace shardmanager::orchestrator
