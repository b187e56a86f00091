#include "orchestrator/core/keys/replacer.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "model/keys/reshape.h"
#include "model/region_preferences.h"
#include "orchestrator/decide/keys/replacements.h"
#include "orchestrator/state/record_size.h"

namespace shardmanager::orchestrator {
namespace {

using google::protobuf::RepeatedPtrField;

bool Names(const RepeatedPtrField<v1::Shard>& shards, const std::string& id) {
  return std::any_of(shards.begin(), shards.end(),
                     [&](const v1::Shard& shard) { return shard.id() == id; });
}

// By what a new leader has read.
bool Hold(const std::vector<StoredServer>& servers, const RepeatedPtrField<v1::Shard>& shards) {
  return std::any_of(servers.begin(), servers.end(), [&](const StoredServer& server) {
    return std::any_of(server.assignment.begin(), server.assignment.end(),
                       [&](const StoredReplica& r) { return Names(shards, r.shard); });
  });
}

bool AnyUnread(const std::vector<StoredServer>& servers) {
  return std::any_of(servers.begin(), servers.end(),
                     [](const StoredServer& server) { return server.unread; });
}

// Durably. (What is being written may come to nothing.)
bool Hold(const Tables& tables, const std::vector<ShardIndex>& shards) {
  bool held = false;
  for (const ShardIndex id : shards) {
    tables.ForEach(id, [&](ReplicaIndex, const Replica& r) { held |= r.phase != Phase::kAbsent; });
  }
  return held;
}

}  // namespace

void Replacer::Adopt(const std::vector<v1::Reshape>& reshapes, const v1::AppSpec& spec,
                     const std::vector<StoredServer>& recovered) {
  absl::flat_hash_set<ShardIndex> over;  // by their first new shard
  for (const Replacement& before : state_.replacements) {
    if (before.over) over.insert(before.to.front());
    for (const ShardIndex id : before.from) {
      state_.tables.shard(id).replaced = false;
      state_.tables.shard(id).leaves_first = false;
    }
  }
  state_.replacements.clear();
  const auto intern = [&](const RepeatedPtrField<v1::Shard>& shards) {
    std::vector<ShardIndex> ids;
    for (const v1::Shard& shard : shards) ids.push_back(state_.tables.InternShard(shard.id()));
    return ids;
  };
  for (const v1::Reshape& reshape : reshapes) {
    if (reshape.from().empty() || reshape.to().empty()) continue;
    Replacement r{reshape, intern(reshape.from()), intern(reshape.to())};
    // All are replaced in one write: whoever has one of the new ones shows that it has happened. A
    // record that cannot be read may hold the old ones.
    const bool made = Hold(state_.tables, r.to) || Hold(recovered, reshape.to());
    const bool there = IsHeld(r) || Hold(recovered, reshape.from()) || AnyUnread(recovered) ||
                       !state_.unread.servers.empty();
    r.over = over.contains(r.to.front()) || made || !there;
    // One that is over says what its shards were made of, whatever the spec has now.
    if (r.over || HasShardsOf(spec, reshape)) state_.replacements.push_back(std::move(r));
  }
}

std::vector<LayoutShard> Replacer::LayoutNow() const {
  const auto& all = state_.replacements;
  const v1::StoredPreferences& preferences = state_.ordered.preferences;
  if (std::all_of(all.begin(), all.end(), [](const Replacement& r) { return r.over; })) {
    return ExpandLayout(state_.spec, preferences);
  }
  v1::AppSpec now = state_.spec;
  for (const Replacement& r : all) {
    if (!r.over) now = WithReshape(now, Undone(r.reshape));
  }
  return ExpandLayout(now, preferences);
}

void Replacer::Mark() {
  for (const Replacement& r : state_.replacements) {
    if (r.over) continue;
    for (const ShardIndex id : r.from) {
      state_.tables.shard(id).replaced = true;
      agenda_.MarkDirty(id);
    }
    for (const v1::Shard& shard : r.reshape.to()) {
      state_.records.most_replica_bytes =
          std::max(state_.records.most_replica_bytes, ReplicaBytes(shard.id()));
    }
  }
}

// Or is about to be: what is being written counts, as nobody else may begin with those keys then.
bool Replacer::IsHeld(const Replacement& r) const {
  return std::any_of(r.from.begin(), r.from.end(),
                     [&](ShardIndex id) { return state_.tables.shard(id).first.valid(); });
}

bool Replacer::Look() {
  if (state_.deleting) return false;
  bool any = false;
  for (Replacement& r : state_.replacements) {
    if (r.over) continue;
    const bool made = Hold(state_.tables, r.to);
    if (made || (!IsHeld(r) && state_.unread.servers.empty())) {
      Finish(r);
      any = true;
    } else if (!WhyNotReplaced(state_, r)) {
      agenda_.MarkDirty(r.from.front());
    } else {
      LetLeave(r);
      BringTogether(r);
      // A primary that has stopped waits for the others, or for nothing any more.
      if (!state_.replication.both_roles()) continue;
      for (const ShardIndex id : r.from) agenda_.MarkDirty(id);
    }
  }
  return any;
}

void Replacer::Finish(Replacement& r) {
  r.over = true;
  for (const ShardIndex id : r.from) {
    state_.tables.shard(id).replaced = false;
    state_.tables.shard(id).leaves_first = false;
    state_.members.erase(id);
  }
  for (const ShardIndex id : r.to) {
    state_.tables.shard(id).began |= state_.tables.shard(id).first.valid();
  }
  agenda_.AddNote(NoteKind::kShardsReplaced, ServerIndex(), r.from.front(), ReshapeText(r.reshape));
}

// The others of a merge cannot come to a server that is to be emptied: so the first one has to
// leave it, as it would if it were not to be merged. (Where they are together they are merged
// there.)
void Replacer::LetLeave(const Replacement& r) {
  const bool apart = WhyApart(state_, r).has_value();
  for (const ShardIndex id : r.from) {
    bool leaves = false;
    state_.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
      leaves |= apart && state_.tables.server(replica.server).draining;
    });
    state_.tables.shard(id).leaves_first = leaves;
  }
}

// One after the other goes to where the first of them is.
void Replacer::BringTogether(const Replacement& r) {
  for (const ShardIndex id : r.from) {
    if (id == r.from.front() || state_.tables.shard(id).in_batch) continue;
    if (!state_.moves.intents.contains(id)) MoveNext(r, id);
  }
}

void Replacer::MoveNext(const Replacement& r, ShardIndex id) {
  const ShardIndex first = r.from.front();
  ServerIndex from;
  ServerIndex to;
  state_.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    if (!state_.tables.FindReplica(first, replica.server).valid()) from = replica.server;
  });
  state_.tables.ForEach(first, [&](ReplicaIndex, const Replica& replica) {
    const bool stays = replica.phase == Phase::kGranted;
    if (stays && !state_.tables.FindReplica(id, replica.server).valid()) to = replica.server;
  });
  if (!from.valid() || !to.valid() || !MayJoinAt(state_, id, to)) return;
  state_.moves.intents[id].push_back({from, to, allocator::MoveReason::kMerge});
  agenda_.MarkDirty(id);
}

}  // namespace shardmanager::orchestrator
