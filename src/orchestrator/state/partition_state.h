// All that the decisions about a partition are made of. Whoever decides, describes or publishes
// reads it (decide/, describe/); only Partition changes it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "allocator/allocator.h"
#include "model/layout.h"
#include "model/leaving_rules.h"
#include "model/replication_rules.h"
#include "orchestrator/state/budgets.h"
#include "orchestrator/state/left_servers.h"
#include "orchestrator/state/load/demand.h"
#include "orchestrator/state/load/load_table.h"
#include "orchestrator/state/load/scaling.h"
#include "orchestrator/state/load/skew.h"
#include "orchestrator/state/mass_failure.h"
#include "orchestrator/state/missing_shards.h"
#include "orchestrator/state/move_holds.h"
#include "orchestrator/state/oversize_records.h"
#include "orchestrator/state/overtaken_grants.h"
#include "orchestrator/state/partition_parts.h"
#include "orchestrator/state/quarantine.h"
#include "orchestrator/state/replacement.h"
#include "orchestrator/state/tables.h"
#include "orchestrator/state/told_members.h"
#include "orchestrator/state/unread_members.h"

namespace shardmanager::orchestrator {

// A replica's place in the tables that are kept by shard and server.
inline uint64_t Key(ShardIndex shard, ServerIndex server) {
  return uint64_t{shard.index()} << 32 | server.index();
}

// Moves that are planned or under way.
struct Moves {
  // Forgets the proposed moves (not the places of missing replicas) for which f(shard, from) says
  // so.
  template <typename F>
  void Forget(F&& f) {
    for (auto& [shard, proposed] : intents) {
      const auto goes = [&, shard = shard](const Intent& intent) {
        return intent.from.valid() && f(shard, intent.from);
      };
      proposed.erase(std::remove_if(proposed.begin(), proposed.end(), goes), proposed.end());
    }
  }

  // What plans proposed, and is not written yet.
  absl::flat_hash_map<ShardIndex, absl::InlinedVector<Intent, 2>> intents;
  absl::flat_hash_map<ShardIndex, ServerIndex> from;  // of secondaries: the source
  // Of shards that move (decide/view.h says whether they still do); for people, and not known to
  // the next leader.
  absl::flat_hash_map<ShardIndex, MoveBegun> begun;
  Budgets budgets;
  LeftServers left;
};

// Planned changes of primaries (decide/roles.h).
struct Switchovers {
  absl::flat_hash_set<ShardIndex> under_way;
  std::set<ShardIndex> waiters;                     // for room among those
  absl::flat_hash_map<ShardIndex, ServerIndex> to;  // is to be the primary, for balance
  absl::flat_hash_set<ShardIndex> for_load;         // of `to`: since a server was beyond its limits
  TimePoint for_load_until{};                       // replicas do not wait for these any longer
  absl::flat_hash_map<ShardIndex, ServerIndex> stand_in;  // was the primary, and sends on
  absl::flat_hash_map<ShardIndex, ServerIndex> sent_to;   // was the primary: clients ask it yet
};

// What servers could not do (decide/failures.h).
struct Failures {
  absl::flat_hash_map<uint64_t, Trouble> troubles;         // by Key()
  absl::flat_hash_map<ShardIndex, Servers> failed_at;      // since it was served last
  absl::flat_hash_map<ShardIndex, ServerIndex> return_to;  // who had it before a move failed
  MoveHolds holds;
  OvertakenGrants overtaken;
  Quarantine quarantine;
};

// What servers can carry, where that is not what the spec says for all.
using Capacities = absl::flat_hash_map<ServerIndex, std::vector<MetricAmount>>;

// What servers report of their loads. `reported` follows every report; `planned` is what plans are
// made of (load_book.h).
struct Loads {
  std::vector<std::string> metrics;  // of the spec, in its order
  LoadTable reported;
  LoadTable planned;
  Capacities registered;
  Capacities capacity_now;  // by what they report
  Capacities capacity;      // that plans are made of (capacity_book.h)
  uint64_t refused = 0;     // reported amounts that were out of range, since this leader began
};

// Room in assignment records (record_size.h).
struct Records {
  OversizeRecords oversize;
  size_t most_replica_bytes = 0;  // of a replica of any shard in the spec
};

// Servers whose assignment record cannot be read (decide/unread.h).
struct Unread {
  std::vector<ServerIndex> servers;  // ascending by index
  UnreadMembers members;
};

// Batches of changes of records.
struct Writes {
  std::deque<ShardIndex> queue;  // shards that wait for the next one
  bool out = false;              // one is being written
  bool blocked = false;          // the store did not take the last one
  bool deposed = false;          // another process leads: nothing is decided any more
};

// The periodic look at the balance, and the plan that is being made for it, or for what has no
// place.
struct BalanceLooks {
  TimePoint next{};       // the next periodic look
  TimePoint last{};       // when a plan for balance last came back
  size_t last_moves = 0;  // in that plan
  bool ever = false;      // the two above are set
  bool at_rest = false;   // nothing changed since the allocator was asked for a better balance
  bool plan_out = false;  // the allocator is making a plan
};

// The map that an app's own orchestrator supplies (core/mirror.h): the newest one.
struct Supply {
  bool known = false;     // there is one
  uint64_t life = 0;      // of the orchestrator
  uint64_t sequence = 0;  // in that life
  TimePoint at{};         // when it came, or was said to hold on
  bool silent = false;    // that is too long ago
};

// What the spec says of regions, by domain number.
struct RegionRules {
  std::vector<bool> allowed;                  // empty: all are
  std::vector<allocator::RegionWish> wishes;  // of placement.region_replicas, in its order
  std::vector<uint32_t> order;                // of failover.region_order
};

struct PartitionState {
  TimePoint now{};  // of the event that is being handled
  bool recovered = false;
  bool deleting = false;
  v1::AppSpec spec;
  ReplicationRules replication;  // of the spec, as the next one
  LeavingRules leaving;
  std::vector<LayoutShard> layout;
  std::vector<ShardIndex> map_order;  // of the layout: the shards in the order of the map
  RegionRules regions;
  MassFailure mass_failure;
  OperatorOrders ordered;
  std::vector<Replacement> replacements;
  std::vector<ServerOrder> orders;  // of container operations, ascending by server
  Tables tables;
  absl::flat_hash_map<ShardIndex, ToldMembers> members;
  absl::flat_hash_map<uint64_t, uint8_t> progress;  // of loads, by Key(), percent
  Moves moves;
  Switchovers switchovers;
  Failures failures;
  MissingShards missing;
  Records records;
  Loads loads;
  Scaling scaling;
  ClientDemand demand;
  Skew skew;
  Unread unread;
  Writes writes;
  BalanceLooks balance;
  Supply supply;
  TimePoint gather_until = TimePoint::min();  // shards that never had a place wait so long
};

}  // namespace shardmanager::orchestrator
