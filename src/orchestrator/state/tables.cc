#include "orchestrator/state/tables.h"

#include "orchestrator/state/record_size.h"

namespace shardmanager::orchestrator {

ShardIndex Tables::InternShard(std::string_view id) {
  const ShardIndex index = shard_ids_.Intern(id);
  if (index.index() == shards_.size()) shards_.emplace_back();
  return index;
}

ServerIndex Tables::InternServer(std::string_view name) {
  const ServerIndex index = server_names_.Intern(name);
  if (index.index() == servers_.size()) servers_.emplace_back();
  return index;
}

ReplicaIndex Tables::AddReplica(ShardIndex shard, ServerIndex server, Role role, ShardEpoch epoch) {
  ReplicaIndex id(replicas_.size());
  if (free_.empty()) {
    replicas_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  std::vector<ReplicaIndex>& of_server = servers_[server.index()].replicas;
  ReplicaIndex& first = shards_[shard.index()].first;
  Replica& replica = replicas_[id.index()];
  replica = Replica{};
  replica.shard = shard;
  replica.server = server;
  replica.role = role;
  replica.epoch = epoch;
  replica.next = first;
  replica.position = static_cast<uint32_t>(of_server.size());
  first = id;
  of_server.push_back(id);
  servers_[server.index()].primaries += role == Role::kPrimary;
  servers_[server.index()].record_bytes += ReplicaBytes(name(shard));
  return id;
}

void Tables::SetRole(ReplicaIndex id, Role role) {
  Replica& replica = replicas_[id.index()];
  uint32_t& primaries = servers_[replica.server.index()].primaries;
  primaries -= replica.role == Role::kPrimary;
  replica.role = role;
  primaries += replica.role == Role::kPrimary;
}

void Tables::RemoveReplica(ReplicaIndex id) {
  const Replica& replica = replicas_[id.index()];
  ReplicaIndex* link = &shards_[replica.shard.index()].first;
  while (*link != id) link = &replicas_[link->index()].next;
  *link = replica.next;

  servers_[replica.server.index()].primaries -= replica.role == Role::kPrimary;
  servers_[replica.server.index()].record_bytes -= ReplicaBytes(name(replica.shard));
  std::vector<ReplicaIndex>& of_server = servers_[replica.server.index()].replicas;
  of_server[replica.position] = of_server.back();
  replicas_[of_server.back().index()].position = replica.position;
  of_server.pop_back();
  free_.push_back(id);
}

ReplicaIndex Tables::FindReplica(ShardIndex shard, ServerIndex server) const {
  ReplicaIndex i = shards_[shard.index()].first;
  while (i.valid() && replicas_[i.index()].server != server) i = replicas_[i.index()].next;
  return i;
}

size_t Tables::memory_bytes() const {
  size_t bytes = shards_.capacity() * sizeof(Shard) + servers_.capacity() * sizeof(Server) +
                 replicas_.capacity() * sizeof(Replica) + free_.capacity() * sizeof(ReplicaIndex);
  for (const Server& server : servers_) bytes += server.replicas.capacity() * sizeof(ReplicaIndex);
  constexpr size_t kPerName = sizeof(std::string) + 24;  // the string and its hash entry
  bytes += (shard_ids_.size() + server_names_.size()) * kPerName;
  return bytes;
}

}  // namespace shardmanager::orchestrator
