// Secondaries on servers whose assignment record cannot be read, as those servers report them. See
// decide/unread.h.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "orchestrator/state/tables.h"
#include "orchestrator/state/told_members.h"

namespace shardmanager::orchestrator {

class UnreadMembers {
 public:
  using Shards = std::set<ShardIndex>;  // ordered, as what follows for them is

  // The server is live. What it holds is unknown until it reports.
  void Await(ServerIndex server) { awaited_.insert(server); }
  bool awaits_reports() const { return !awaited_.empty(); }

  // The server reports that it holds `shards` as a secondary. Returns those whose members differ
  // now.
  Shards Report(const Member& server, const Shards& shards) {
    awaited_.erase(server.server);
    Shards changed;
    for (auto& [shard, members] : members_) {
      if (!shards.contains(shard) && Erase(members, server.server)) changed.insert(shard);
    }
    for (ShardIndex shard : shards) {
      MemberList& members = members_[shard];
      if (std::find(members.begin(), members.end(), server) != members.end()) continue;
      members.push_back(server);
      changed.insert(shard);
    }
    return changed;
  }

  // In no particular order.
  MemberList Of(ShardIndex shard) const {
    const auto found = members_.find(shard);
    return found == members_.end() ? MemberList() : found->second;
  }

 private:
  static bool Erase(MemberList& members, ServerIndex server) {
    return std::erase_if(members, [&](const auto& m) { return m.server == server; }) > 0;
  }

  std::set<ServerIndex> awaited_;
  std::map<ShardIndex, MemberList> members_;
};

}  // namespace shardmanager::orchestrator
