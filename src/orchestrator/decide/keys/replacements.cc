#include "orchestrator/decide/keys/replacements.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/unread.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

template <typename Ids>
const Replacement* FindReplacement(const PartitionState& state, ShardIndex id, bool over,
                                   const Ids& ids) {
  for (const Replacement& r : state.replacements) {
    const std::vector<ShardIndex>& shards = ids(r);
    const bool there = std::find(shards.begin(), shards.end(), id) != shards.end();
    if (r.over == over && there) return &r;
  }
  return nullptr;
}

// Why one replica keeps its shard from being replaced.
std::optional<std::string> WhyNot(const PartitionState& state, const Replica& replica) {
  const std::string& shard = state.tables.name(replica.shard);
  const std::string& name = state.tables.name(replica.server);
  const Server& server = state.tables.server(replica.server);
  if (server.state != ServerState::kLive)
    return absl::StrCat(shard, " is on ", name, ", which is away");
  if (replica.phase != Phase::kGranted || replica.in_write) {
    return absl::StrCat(shard, " is being moved, at ", name);
  }
  if (TakesNothing(server)) return absl::StrCat("a record of ", name, " cannot be read");
  if (!Serves(state, replica)) return absl::StrCat(name, " does not serve ", shard, " yet");
  return std::nullopt;
}

std::optional<std::string> WhyNot(const PartitionState& state, ShardIndex id) {
  const std::string& shard = state.tables.name(id);
  if (HeldBack(state, id))
    return absl::StrCat(shard, " may be on a server whose record cannot be read");
  if (state.tables.shard(id).in_batch)
    return absl::StrCat("a change of ", shard, " is being written");
  size_t replicas = 0;
  std::optional<std::string> why;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    ++replicas;
    if (!why) why = WhyNot(state, replica);
  });
  if (replicas == 0) return absl::StrCat("nobody serves ", shard);
  return why;
}

// A merge needs them on the same servers.
std::optional<std::string> WhyApart(const PartitionState& state, ShardIndex first, ShardIndex id) {
  std::optional<std::string> why;
  const auto look = [&](ShardIndex here, ShardIndex there) {
    state.tables.ForEach(here, [&](ReplicaIndex, const Replica& replica) {
      if (why || state.tables.FindReplica(there, replica.server).valid()) return;
      why = absl::StrCat(state.tables.name(here), " is on ", state.tables.name(replica.server),
                         ", and ", state.tables.name(there), " is not");
    });
  };
  look(id, first);
  look(first, id);
  return why;
}

bool GetsAll(const Change& change, const Replica& replica, const Replacement& r) {
  return std::all_of(r.to.begin(), r.to.end(), [&](ShardIndex shard) {
    return std::any_of(change.news.begin(), change.news.end(), [&](const NewReplica& fresh) {
      return fresh.shard == shard && fresh.server == replica.server && fresh.role == replica.role &&
             fresh.phase == Phase::kGranted;
    });
  });
}

}  // namespace

const Replacement* ReplacementOf(const PartitionState& state, ShardIndex id) {
  return FindReplacement(
      state, id, /*over=*/false, [](const Replacement& r) -> auto& { return r.from; });
}

const Replacement* OriginOf(const PartitionState& state, ShardIndex id) {
  return FindReplacement(
      state, id, /*over=*/true, [](const Replacement& r) -> auto& { return r.to; });
}

std::optional<std::string> WhyNotReplaced(const PartitionState& state, const Replacement& r) {
  if (MovesNothing(state)) return "the app is paused";
  if (state.replication.both_roles()) {
    return "the app's shards have a primary and secondaries now, which cannot be replaced";
  }
  for (const ShardIndex id : r.from) {
    if (state.tables.shard(id).pinned) return absl::StrCat(state.tables.name(id), " is pinned");
  }
  for (const ShardIndex id : r.from) {
    if (auto why = WhyApart(state, r.from.front(), id)) return why;
  }
  for (const ShardIndex id : r.from) {
    if (auto why = WhyNot(state, id)) return why;
  }
  return std::nullopt;
}

bool MayJoinAt(const PartitionState& state, ShardIndex id, ServerIndex server) {
  if (MovesNothing(state) || state.tables.shard(id).pinned) return false;
  const Replacement* r = ReplacementOf(state, id);
  return r != nullptr && r->from.front() != id &&
         state.tables.FindReplica(r->from.front(), server).valid();
}

void DecideReplacement(const PartitionState& state, Change& change, ShardIndex id) {
  const Replacement* r = ReplacementOf(state, id);
  if (r == nullptr || r->from.front() != id || WhyNotReplaced(state, *r)) return;
  for (const ShardIndex from : r->from) {
    state.tables.ForEach(from, [&](ReplicaIndex replica, const Replica&) {
      change.phases.push_back({.replica = replica, .to = Phase::kAbsent, .replaced = true});
    });
  }
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    for (const ShardIndex to : r->to) {
      change.news.push_back({.server = replica.server,
                             .phase = Phase::kGranted,
                             .cause = Cause::kPlacement,
                             .origin = ServerIndex(),
                             .role = replica.role,
                             .shard = to});
    }
  });
}

void CheckHandedOn(const PartitionState& state, const Change& change) {
  for (const PhaseChange& c : change.phases) {
    if (!c.replaced) continue;
    const Replica& replica = state.tables.replica(c.replica);
    const Replacement* r = ReplacementOf(state, replica.shard);
    SM_CHECK(r != nullptr && GetsAll(change, replica, *r),
             "a right would be taken for shards that its server does not get");
  }
}

}  // namespace shardmanager::orchestrator
