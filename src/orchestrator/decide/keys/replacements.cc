#include "orchestrator/decide/keys/replacements.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/defect.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/handover.h"
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

// The primary has been told to stop, or that is being written.
bool IsStopping(const Replica& replica) {
  const Phase phase = replica.in_write ? replica.writing : replica.phase;
  return replica.role == Role::kPrimary && phase == Phase::kDemoting;
}

bool HasStopped(const Replica& replica) {
  if (Planted(Defect::kReplacesUnderThePrimary)) return replica.role == Role::kPrimary;
  return IsStopping(replica) && replica.contact == Contact::kDone && !replica.in_write;
}

// Why one replica keeps its shard from being replaced, whether its primary has stopped or not.
std::optional<std::string> WhyNot(const PartitionState& state, const Replica& replica) {
  const std::string& shard = state.tables.name(replica.shard);
  const std::string& name = state.tables.name(replica.server);
  const Server& server = state.tables.server(replica.server);
  if (server.state != ServerState::kLive)
    return absl::StrCat(shard, " is on ", name, ", which is away");
  const bool stopping = IsStopping(replica);
  if (!stopping && (replica.phase != Phase::kGranted || replica.in_write)) {
    return absl::StrCat(shard, " is being moved, at ", name);
  }
  if (TakesNothing(server)) return absl::StrCat("a record of ", name, " cannot be read");
  if (!stopping && !Serves(state, replica)) {
    return absl::StrCat(name, " does not serve ", shard, " yet");
  }
  if (state.replication.both_roles() && !IsCurrent(state, replica)) {
    return absl::StrCat(name, " is not in step with the primary of ", shard);
  }
  return std::nullopt;
}

std::optional<std::string> WhyNot(const PartitionState& state, ShardIndex id) {
  const std::string& shard = state.tables.name(id);
  if (HeldBack(state, id))
    return absl::StrCat(shard, " may be on a server whose record cannot be read");
  size_t replicas = 0;
  bool primary = false;
  std::optional<std::string> why;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    ++replicas;
    primary |= replica.role == Role::kPrimary;
    if (!why) why = WhyNot(state, replica);
  });
  if (replicas == 0) return absl::StrCat("nobody serves ", shard);
  if (state.replication.both_roles() && !primary) return absl::StrCat(shard, " has no primary");
  return why;
}

// A merge needs them on the same servers.
std::optional<std::string> WhyTwoApart(const PartitionState& state, ShardIndex first,
                                       ShardIndex id) {
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

// Nothing is wrong but that primaries may not have stopped yet.
std::optional<std::string> WhyNotAtRest(const PartitionState& state, const Replacement& r) {
  if (MovesNothing(state)) return "the app is paused";
  if (state.replication.quorum) return "the app's shards have a quorum now";
  for (const ShardIndex id : r.from) {
    if (state.tables.shard(id).pinned) return absl::StrCat(state.tables.name(id), " is pinned");
  }
  if (auto why = WhyApart(state, r)) return why;
  for (const ShardIndex id : r.from) {
    if (auto why = WhyNot(state, id)) return why;
  }
  return std::nullopt;
}

template <typename Is>
bool IsPrimary(const PartitionState& state, ShardIndex id, const Is& is) {
  bool found = false;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    found |= replica.role == Role::kPrimary && is(replica);
  });
  return found;
}

// It is stopping, or nothing keeps it from beginning with that.
bool WillStop(const PartitionState& state, ShardIndex id) {
  const bool may_begin = MayMove(state, id) && !state.tables.shard(id).primary_is_new;
  return IsPrimary(state, id, [&](const Replica& replica) {
    const bool tries = replica.failures < kMostFailures && !IsCalledOff(state, replica);
    return IsStopping(replica) ? tries : may_begin;
  });
}

// In step with what each of the shards that are replaced had here; 0: not with all of them.
uint32_t MemberLife(const PartitionState& state, const Replacement& r, ServerIndex server) {
  const bool in_step = std::all_of(r.from.begin(), r.from.end(), [&](ShardIndex id) {
    const ReplicaIndex here = state.tables.FindReplica(id, server);
    return here.valid() && IsCurrent(state, state.tables.replica(here));
  });
  return in_step && state.replication.both_roles() ? state.tables.server(server).life() : 0;
}

// In the same role; or in any, where all primaries have stopped.
bool GetsAll(const PartitionState& state, const Change& change, const Replica& replica,
             const Replacement& r) {
  return std::all_of(r.to.begin(), r.to.end(), [&](ShardIndex shard) {
    return std::any_of(change.news.begin(), change.news.end(), [&](const NewReplica& fresh) {
      const bool right_role = fresh.role == replica.role || state.replication.both_roles();
      return fresh.shard == shard && fresh.server == replica.server && right_role &&
             fresh.phase == Phase::kGranted;
    });
  });
}

}  // namespace

std::optional<std::string> WhyApart(const PartitionState& state, const Replacement& r) {
  for (const ShardIndex id : r.from) {
    if (auto why = WhyTwoApart(state, r.from.front(), id)) return why;
  }
  return std::nullopt;
}

const Replacement* ReplacementOf(const PartitionState& state, ShardIndex id) {
  return FindReplacement(
      state, id, /*over=*/false, [](const Replacement& r) -> auto& { return r.from; });
}

const Replacement* OriginOf(const PartitionState& state, ShardIndex id) {
  return FindReplacement(
      state, id, /*over=*/true, [](const Replacement& r) -> auto& { return r.to; });
}

std::optional<std::string> WhyNotReplaced(const PartitionState& state, const Replacement& r) {
  if (auto why = WhyNotAtRest(state, r)) return why;
  if (!state.replication.both_roles()) return std::nullopt;
  for (const ShardIndex id : r.from) {
    if (IsPrimary(state, id, HasStopped)) continue;
    return absl::StrCat("the primary of ", state.tables.name(id),
                        " lets the requests in flight end first");
  }
  return std::nullopt;
}

bool StopsToBeReplaced(const PartitionState& state, ShardIndex id) {
  const Replacement* r = ReplacementOf(state, id);
  if (r == nullptr || !state.replication.both_roles() || WhyNotAtRest(state, *r)) return false;
  return std::all_of(r->from.begin(), r->from.end(),
                     [&](ShardIndex from) { return WillStop(state, from); });
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
                             .shard = to,
                             .member_life = MemberLife(state, *r, replica.server)});
    }
  });
}

void CheckHandedOn(const PartitionState& state, const Change& change) {
  for (const PhaseChange& c : change.phases) {
    if (!c.replaced) continue;
    const Replica& replica = state.tables.replica(c.replica);
    const Replacement* r = ReplacementOf(state, replica.shard);
    SM_CHECK(r != nullptr && GetsAll(state, change, replica, *r),
             "a right would be taken for shards that its server does not get");
    const bool acknowledges = state.replication.both_roles() && replica.role == Role::kPrimary;
    SM_CHECK(!acknowledges || HasStopped(replica),
             "a shard would be replaced whose primary has not stopped");
  }
}

}  // namespace shardmanager::orchestrator
