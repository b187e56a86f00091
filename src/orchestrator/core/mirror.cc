#include "orchestrator/core/mirror.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "model/text.h"
#include "orchestrator/decide/supply.h"

namespace shardmanager::orchestrator {
namespace {

Role RoleOf(v1::Role role) { return role == v1::PRIMARY ? Role::kPrimary : Role::kSecondary; }

}  // namespace

void Mirror::Begin() {
  state_.supply.at = state_.now;
  agenda_.SetTimer(kMapHoldsFor, TimerKind::kMapAge);
}

bool Mirror::Take(const SuppliedMap& map) {
  if (!Mirrors(state_) || state_.deleting || !IsNewer(map, state_.supply)) return false;
  if (map.unchanged && !state_.supply.known) return false;
  const bool missing = IsMapMissing(state_);
  state_.supply.life = map.life;
  state_.supply.sequence = map.sequence;
  state_.supply.at = state_.now;
  state_.supply.silent = false;
  agenda_.SetTimer(kMapHoldsFor, TimerKind::kMapAge);
  if (!map.unchanged) state_.supply.known = true;
  if (missing && !IsMapMissing(state_)) {
    agenda_.AddNote(
        NoteKind::kMapSupplied, ServerIndex(), ShardIndex(),
        map.unchanged ? "as it was" : absl::StrCat(Counted(map.servers.size(), "server")));
  }
  return true;
}

void Mirror::LookAtAge() {
  const bool old = state_.now >= state_.supply.at + kMapHoldsFor;
  if (!Mirrors(state_) || !old || std::exchange(state_.supply.silent, true)) return;
  agenda_.AddNote(NoteKind::kMapMissing, ServerIndex(), ShardIndex(), WhyMapIsMissing(state_));
}

std::optional<std::vector<LayoutShard>> Mirror::NewLayout(const SuppliedMap& map) {
  const size_t known = state_.tables.shard_count();
  std::vector<bool> seen(known, false);
  absl::flat_hash_set<std::string_view> others;  // that the tables do not know
  size_t in_layout = 0;
  bool differs = false;
  for (const SuppliedServer& server : map.servers) {
    for (const SuppliedReplica& replica : server.replicas) {
      const ShardIndex id = state_.tables.FindShard(replica.shard);
      if (!id.valid()) {
        others.insert(replica.shard);
      } else if (!seen[id.index()]) {
        seen[id.index()] = true;
        const bool is_in_layout = state_.tables.shard(id).map_index != Shard::kNotInMap;
        in_layout += is_in_layout;
        differs |= !is_in_layout;
      }
    }
  }
  if (!differs && others.empty() && in_layout == state_.layout.size()) return std::nullopt;
  std::vector<std::string> names(others.begin(), others.end());
  for (uint32_t i = 0; i < known; ++i) {
    if (seen[i]) names.push_back(state_.tables.name(ShardIndex(i)));
  }
  std::sort(names.begin(), names.end());
  std::vector<LayoutShard> layout;
  layout.reserve(names.size());
  for (std::string& name : names) layout.push_back({.id = ShardId(std::move(name))});
  return layout;
}

void Mirror::Adopt(const SuppliedMap& map) {
  absl::flat_hash_set<ServerIndex> listed;
  for (const SuppliedServer& supplied : map.servers) {
    const ServerIndex id = state_.tables.InternServer(supplied.name);
    listed.insert(id);
    AdoptServer(id, supplied);
  }
  for (const ServerIndex id : state_.tables.servers()) {
    if (!listed.contains(id)) Forget(id);
  }
}

void Mirror::AdoptServer(ServerIndex id, const SuppliedServer& supplied) {
  Server& server = state_.tables.server(id);
  const ServerState before = server.state;
  const bool began_anew =
      std::exchange(server.incarnation, supplied.incarnation) != supplied.incarnation;
  server.state = supplied.down ? ServerState::kLost : ServerState::kLive;
  server.reported = true;
  server.location.process = supplied.process;
  fleet_.Place(server, supplied.fault_domain);
  if (supplied.down && before != ServerState::kLost) {
    server.lost_at = state_.now;
    agenda_.AddNote(NoteKind::kServerLost, id, ShardIndex(),
                    "its orchestrator says that it is down");
  }
  if (!supplied.down && (began_anew || before != ServerState::kLive)) {
    agenda_.AddNote(NoteKind::kServerJoined, id, ShardIndex(),
                    absl::StrCat("life ", supplied.incarnation.value()));
  }
  AdoptReplicas(id, supplied);
  drains_.UpdateDrain(id);
}

void Mirror::AdoptReplicas(ServerIndex id, const SuppliedServer& supplied) {
  absl::flat_hash_set<ShardIndex> held;
  for (const SuppliedReplica& replica : supplied.replicas) {
    held.insert(state_.tables.FindShard(replica.shard));
  }
  Server& server = state_.tables.server(id);
  const bool had_some = !server.replicas.empty();
  for (const ReplicaIndex r : std::vector<ReplicaIndex>(server.replicas)) {
    if (!held.contains(state_.tables.replica(r).shard)) state_.tables.RemoveReplica(r);
  }
  server.serving = 0;
  for (const SuppliedReplica& in : supplied.replicas) {
    const ShardIndex shard = state_.tables.FindShard(in.shard);
    ReplicaIndex r = state_.tables.FindReplica(shard, id);
    if (!r.valid()) r = state_.tables.AddReplica(shard, id, RoleOf(in.role), ShardEpoch());
    state_.tables.SetRole(r, RoleOf(in.role));
    Replica& replica = state_.tables.replica(r);
    const bool serves = in.serving && !supplied.down;
    replica.phase = Phase::kGranted;
    replica.settled = true;
    replica.contact = serves ? Contact::kDone : Contact::kIdle;
    replica.member_life = serves ? server.life() : 0;  // what serves is in step
    server.serving += serves;
  }
  if (had_some) drains_.NoteDrained(id);
}

void Mirror::Forget(ServerIndex id) {
  Server& server = state_.tables.server(id);
  if (server.state == ServerState::kDown) return;
  server.state = ServerState::kDown;
  RemoveReplicas(id);
  agenda_.AddNote(NoteKind::kServerDeparted, id, ShardIndex(),
                  "its orchestrator does not list it any more");
}

void Mirror::RemoveReplicas(ServerIndex id) {
  Server& server = state_.tables.server(id);
  while (!server.replicas.empty()) state_.tables.RemoveReplica(server.replicas.back());
  server.serving = 0;
}

void Mirror::Clear() {
  for (const ServerIndex id : state_.tables.servers()) RemoveReplicas(id);
}

}  // namespace shardmanager::orchestrator
