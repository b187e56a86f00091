// The allocator: which server should hold which shard, as the orchestrator asks for
// it. The problem that this becomes is in placement/, its solver in solver/.
//
// Pure: the same snapshot, options and seed give the same plan. No clock; the
// budget is counted in steps. Runs on any thread, on its own copy of the state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/placement/placement.h"
#include "base/dense_id.h"
#include "shardmanager/types.h"

namespace shardmanager::allocator {

// Numbers stand for names: the caller keeps the tables. Equal numbers, same domain.
struct ServerInfo {
  ServerIndex server;
  uint32_t region = 0;
  uint32_t datacenter = 0;      // unique over all regions
  uint32_t rack = 0;            // unique over all datacenters
  uint32_t capacity = 0;        // most replicas; 0: no limit
  uint32_t other_replicas = 0;  // held replicas of shards that the snapshot leaves out
  bool accepts = true;          // may be given more replicas
  bool draining = false;        // should lose those that it has; accepts none
  bool ordered = false;         // so an operator ordered: draining outranks preferences
  uint32_t moves = 0;           // to or from it, under way: they count for Options::moves
  uint32_t drain_moves = 0;     // likewise for Options::drain_moves
};

struct ReplicaInfo {
  ServerIndex server;
  Role role = Role::kPrimary;
  bool movable = true;  // false: a migration of it is under way
};

// So many replicas of a shard should be in the region.
struct RegionWish {
  uint32_t region = 0;
  uint32_t replicas = 1;
  friend bool operator==(const RegionWish&, const RegionWish&) = default;
};

struct ShardInfo {
  ShardIndex shard;
  uint32_t wanted_replicas = 1;
  Role new_role = Role::kPrimary;  // of replicas that are missing
  uint32_t preferred_region = kNoRegion;
  // Where the region has not room for all that prefer it, the heavier ones are there. 1 and more.
  uint32_t preference_weight = 1;
  // Each region once. None: as Snapshot::region_wishes says.
  std::vector<RegionWish> region_wishes = {};
  std::vector<ReplicaInfo> replicas;  // where they are, or are going to be
  // The shard is given to none of these; the snapshot lists them all. (A replica that is on one
  // already may stay.)
  std::vector<ServerIndex> avoided;
  // Moves for balance left these a while ago, and none brings the shard back; the snapshot lists
  // them all. (Nothing else heeds it.)
  std::vector<ServerIndex> left;

  static constexpr uint32_t kNoRegion = UINT32_MAX;
};

// A load that is balanced, beside the number of replicas.
struct MetricInfo {
  std::string name;
  // Utilization that no server should pass. 0 to 1.
  double threshold = 0.9;
  // How far above its share a server may be, as a fraction of the share.
  double tolerance = 0.1;
};

// A partition at one moment. Servers and shards each in ascending order of id. For
// an emergency it is enough to list the shards that miss replicas.
struct Snapshot {
  std::vector<ServerInfo> servers;
  std::vector<ShardInfo> shards;
  Spread spread = Spread::kServer;
  std::vector<SpreadLimit> spread_limits;  // each level once
  std::vector<RegionWish> region_wishes;   // of shards without their own; each region once

  // Empty: only the number of replicas counts, and the tables below are empty, too.
  std::vector<MetricInfo> metrics;
  // Row-major [server][metric]. Infinity: no limit.
  std::vector<double> capacity;
  // As `capacity`: of the `other_replicas`.
  std::vector<double> other_load;
  // Row-major [row][metric]: for each shard in turn a row for each listed replica, then
  // one for those that are missing.
  std::vector<float> load;
};

enum class Mode : uint8_t {
  kEmergency,  // place what is missing, at once
  kPeriodic,   // improve what is placed
};

struct MoveLimits {
  uint32_t total = 20;      // in the plan
  uint32_t per_server = 5;  // as source or target, those under way included
};

struct Options {
  Mode mode = Mode::kPeriodic;
  uint64_t seed = 1;
  uint64_t step_budget = 100'000'000;
  // Of a periodic plan that leaves a limit broken or a replica without a place, though the fleet
  // has room enough in sum: most further steps to repair it (some 0.1 s: an emergency may be
  // waiting). 0: it is not repaired. Half of them are for moves and trades that each mend a server,
  // the other half for annealing, with so many steps at most for each replica.
  uint64_t most_repair_steps = 1'000'000;
  uint64_t annealing_steps_per_replica = 5'000;
  // Of a periodic plan.
  MoveLimits moves;
  MoveLimits drain_moves;  // off servers that an operator ordered to be emptied
};

// The goal of highest priority that the move serves.
enum class MoveReason : uint8_t {
  kPlaceMissing,
  kConstraint,  // a hard limit was broken
  kRegionPreference,
  kSpread,
  kMaintenance,
  kUtilization,
  kBalance,
  kMerge,  // with a shard there; never in a plan
  kAsked,  // by an operator; never in a plan
};

struct Move {
  ShardIndex shard;
  ServerIndex from;  // invalid: a new replica
  ServerIndex to;
  Role role = Role::kPrimary;
  MoveReason reason = MoveReason::kPlaceMissing;
};

// Why a missing replica could not be placed.
enum class SkipReason : uint8_t { kNoServers, kNoCapacity, kNoFaultDomain, kAvoided };

struct Skipped {
  ShardIndex shard;
  SkipReason reason;
};

struct Plan {
  std::vector<Move> moves;
  std::vector<Skipped> skipped;
  uint64_t steps = 0;
};

std::string_view ToString(MoveReason reason);
// A sentence for a person.
std::string_view ToString(SkipReason reason);

// Never fails: a snapshot that makes no sense gives a plan without moves.
Plan Solve(const Snapshot& snapshot, const Options& options);

}  // namespace shardmanager::allocator
