// The hot state of a partition: plain structs under dense ids. Sized for millions
// of replicas (bench/core/events.cc measures it).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "base/dense_id.h"
#include "base/interner.h"
#include "base/time.h"
#include "model/replica_phase.h"
#include "orchestrator/state/steadiness.h"
#include "shardmanager/types.h"

namespace shardmanager::orchestrator {

using ReplicaIndex = DenseId<struct ReplicaIndexTag>;
// A few of them, as those where a shard has failed.
using Servers = absl::InlinedVector<ServerIndex, 2>;

// How far the server is with what the durable phase asks of it.
enum class Contact : uint8_t {
  kIdle,   // to be asked
  kAsked,  // a command is out
  kDone,   // it serves (granted) or has stopped (dropping)
  kRetry,  // asked in vain; a timer brings it back to kIdle
};

// Why the replica was made.
enum class Cause : uint8_t { kPlacement, kFailover, kBalance, kDrain };
inline constexpr size_t kCauses = 4;
// It takes the place of a replica that serves.
inline bool IsMove(Cause cause) { return cause == Cause::kBalance || cause == Cause::kDrain; }

struct Replica {
  ShardIndex shard;
  ServerIndex server;
  ShardEpoch epoch;
  ReplicaIndex next;      // of the same shard
  uint32_t position = 0;  // in Server::replicas
  ServerIndex origin;     // kFailover: the server lost; of a move: the source
  Phase phase = Phase::kAbsent;
  Phase writing = Phase::kAbsent;  // meaningful while `in_write`
  bool in_write = false;           // the batch that is out changes it
  Role role = Role::kPrimary;
  Contact contact = Contact::kIdle;
  Cause cause = Cause::kPlacement;
  bool settled = false;        // has served once since it was made
  bool told_since = false;     // that it serves, since the report to come was asked for
  bool role_changed = false;   // in this life it held the shard in the other role
  bool lacking = false;        // elected though it may lack what was acknowledged
  bool follows_loads = false;  // of a move whose source is there yet: loads asked for it
  uint8_t failures = 0;        // in a row
  // The server's life in which it came to be in step with the shard's primary; 0: it is not.
  uint32_t member_life = 0;
};

struct Shard {
  ReplicaIndex first;  // list of its replicas
  uint32_t map_index = kNotInMap;
  uint16_t wanted = 0;           // replicas; 0: the shard is to go
  uint32_t region = 0;           // preferred, 1-based domain number; 0: none
  bool dirty = false;            // in the queue of shards to look at
  bool waits_for_write = false;  // in the queue for the next batch
  bool in_batch = false;
  bool publish = false;           // in the queue for the next map
  bool missing = false;           // lacks replicas that nobody has a place for yet
  bool waits_for_budget = false;  // in the queue for room among failovers
  bool poisoned = false;          // several servers could not add it: it stays with the last one
  bool right_seen = false;        // somebody was granted it as primary at recovery
  bool primary_is_new = false;    // it was changed, as planned, just now
  bool began = false;             // a primary has served it, or may have, since it is wanted
  bool pinned = false;            // stays where it is: see decide/pause.h
  bool replaced = false;          // is to be: see decide/keys/replacements.h
  bool leaves_first = false;      // it is, once the server that is to be emptied has it no more
  uint8_t preference_weight = 1;  // among the shards that prefer `region`

  static constexpr uint32_t kNotInMap = UINT32_MAX;
};

enum class ServerState : uint8_t {
  kDown,  // known by name; no life seen, or failed over
  kLive,
  kLost,      // its session expired; failover is waiting
  kDeparted,  // it said good-bye
};

// What container operations and maintenances ask for a server (model/server_order.h), and what an
// operator says of it.
struct PlannedStop {
  bool forgotten = false;  // it does not come back
  bool closed = false;     // given nothing: an operation is under way
  bool avoided = false;    // an operation is pending: what leaves others goes elsewhere
  TimePoint away_until = TimePoint::min();  // away as planned
};

// Of a drain.
struct DrainBegun {
  TimePoint at{};
  uint32_t replicas = 0;  // that the server had then
};

// Where its last life that was seen runs.
struct Location {
  std::string endpoint;
  std::string process;  // "host/pid"
  FaultDomain fault_domain;
};

struct Server {
  ServerState state = ServerState::kDown;
  bool reported = false;       // said what it holds (or holds nothing)
  bool failing_over = false;   // its replicas are to be given to others
  bool conflicted = false;     // came back during failover: wait to see it live
  bool record_unread = false;  // its assignment record cannot be read: see decide/unread.h
  bool life_unread = false;    // its live record cannot be read: nobody can reach it
  Incarnation incarnation;
  int32_t registration_version = 0;
  uint32_t capacity = 0;
  uint32_t region = 0;  // domain numbers; 0: never seen
  uint32_t datacenter = 0;
  uint32_t rack = 0;
  uint32_t serving = 0;           // replicas that serve
  uint32_t failover_pending = 0;  // replicas taken from it that do not serve yet
  uint32_t unreachable = 0;       // failed contacts in a row
  uint32_t reports_out = 0;       // asked of this life, and not answered
  bool retry_timer = false;       // kServerRetry is set
  bool look_timer = false;        // kLook is set
  bool draining = false;          // to be emptied, and given nothing
  bool sheds_primaries = false;   // is to be no primary where another can be
  uint32_t primaries = 0;         // replicas with that role
  DrainBegun drain_begun;
  uint64_t batch = 0;       // last batch that touched it
  size_t record_bytes = 0;  // of its replicas in its record, at most: see record_size.h
  TimePoint lost_at{};
  TimePoint failover_at{};
  PlannedStop planned;  // for container operations
  Steadiness steadiness;
  std::vector<ReplicaIndex> replicas;
  Location location;

  // Its incarnation, as records of replicas have it.
  uint32_t life() const { return static_cast<uint32_t>(incarnation.value()); }
};

// Owns shards, servers and replicas, and the lists that tie them. No decisions.
class Tables {
 public:
  ShardIndex InternShard(std::string_view id);
  ServerIndex InternServer(std::string_view name);
  ShardIndex FindShard(std::string_view id) const { return shard_ids_.Find(id); }
  ServerIndex FindServer(std::string_view name) const { return server_names_.Find(name); }
  const std::string& name(ShardIndex id) const { return shard_ids_.name(id); }
  const std::string& name(ServerIndex id) const { return server_names_.name(id); }

  Shard& shard(ShardIndex id) { return shards_[id.index()]; }
  const Shard& shard(ShardIndex id) const { return shards_[id.index()]; }
  Server& server(ServerIndex id) { return servers_[id.index()]; }
  const Server& server(ServerIndex id) const { return servers_[id.index()]; }
  Replica& replica(ReplicaIndex id) { return replicas_[id.index()]; }
  const Replica& replica(ReplicaIndex id) const { return replicas_[id.index()]; }

  size_t shard_count() const { return shards_.size(); }
  size_t server_count() const { return servers_.size(); }
  // Of all servers, in the order in which they became known.
  IdRange<ServerIndex> servers() const { return IdRange<ServerIndex>(servers_.size()); }
  size_t replica_count() const { return replicas_.size() - free_.size(); }

  ReplicaIndex AddReplica(ShardIndex shard, ServerIndex server, Role role, ShardEpoch epoch);
  void RemoveReplica(ReplicaIndex id);
  void SetRole(ReplicaIndex id, Role role);
  // Invalid when there is none.
  ReplicaIndex FindReplica(ShardIndex shard, ServerIndex server) const;

  // Calls f(ReplicaIndex, Replica&) for each replica of the shard. f may not add or
  // remove any.
  template <typename F>
  void ForEach(ShardIndex shard, F&& f) {
    for (ReplicaIndex i = shards_[shard.index()].first; i.valid();) {
      const ReplicaIndex next = replicas_[i.index()].next;
      f(i, replicas_[i.index()]);
      i = next;
    }
  }
  template <typename F>
  void ForEach(ShardIndex shard, F&& f) const {
    for (ReplicaIndex i = shards_[shard.index()].first; i.valid(); i = replicas_[i.index()].next) {
      f(i, replicas_[i.index()]);
    }
  }

  // Heap and table bytes, without what std::string keeps inline.
  size_t memory_bytes() const;

 private:
  Interner<ShardIndex> shard_ids_;
  Interner<ServerIndex> server_names_;
  std::vector<Shard> shards_;
  std::vector<Server> servers_;
  std::vector<Replica> replicas_;
  std::vector<ReplicaIndex> free_;
};

}  // namespace shardmanager::orchestrator
