// What a decision sees of the application: its servers, and what they hold, at one moment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "base/dense_id.h"
#include "shardmanager/types.h"
#include "taskcontroller/selection/problem.h"

namespace shardmanager::taskcontroller {

// A replica on a server.
struct SeenReplica {
  ShardIndex shard;
  Role role = Role::kPrimary;
  // Clients are served by it, or could be: it is loaded, in step where that matters, and neither it
  // nor its server is on the way out.
  bool healthy = false;
  // It is being added, dropped, handed over, or changes its role.
  bool in_transition = false;
};

struct SeenServer {
  std::string name;
  Incarnation incarnation;  // of its current, else its last life; 0: none was seen
  bool live = false;
  std::string process;  // of that life, "host/pid"; empty: not known
  DomainNumbers domain;
  // Why nothing can be expected of it although it lives; empty: nothing is wrong. Example:
  // "quarantined".
  std::string trouble;
  // One of its records cannot be read: it may hold more than is listed.
  bool unread = false;
  uint32_t begin = 0;  // of its replicas in FleetView::replicas
  uint32_t end = 0;
};

struct SeenShard {
  std::string_view name;
  uint16_t wanted = 0;  // replicas; 0: it is to go
  bool pinned = false;  // its replicas stay where they are
};

// Plain tables. `shards` is as large as the largest index of a replica's shard asks for.
struct FleetView {
  std::vector<SeenServer> servers;
  std::vector<SeenReplica> replicas;  // of all servers, one after the other
  std::vector<SeenShard> shards;
  absl::flat_hash_map<std::string, ServerIndex> by_name;  // of servers
  // All servers have said what they hold, or had the time to. Before that nothing is approved.
  bool complete = false;
  // Of an app with an orchestrator of its own: why it is not complete; what had begun goes on,
  // whatever the tables say. Empty: there is a map that is new enough, or the app needs none.
  std::string map_missing;
  // Nothing is approved, and why. Example: "the app is being deleted".
  std::string closed;

  ServerIndex Find(const std::string& name) const {
    const auto found = by_name.find(name);
    return found == by_name.end() ? ServerIndex() : found->second;
  }
  const SeenServer& server(ServerIndex id) const { return servers[id.index()]; }
  absl::Span<const SeenReplica> held(ServerIndex id) const {
    const SeenServer& server = servers[id.index()];
    return {replicas.data() + server.begin, server.end - server.begin};
  }
};

}  // namespace shardmanager::taskcontroller
