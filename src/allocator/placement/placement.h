// The placement of shards as a problem for the generic solver: hard constraints, and
// seven goals that compare by priority (Shard Manager, SOSP '21, section 5.1).
//
// Flat tables, one row for each server, shard or replica, so that the two million
// replicas of a large deployment cost little more than their numbers.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "allocator/solver/model.h"

namespace shardmanager::allocator {

inline constexpr uint32_t kNowhere = UINT32_MAX;  // a replica without a server
inline constexpr uint32_t kNoPreference = UINT32_MAX;
// The rule that PlacementInput::left becomes.
inline constexpr char kNoReturnRule[] = "no return(server)";

// What is to be balanced, and how.
struct MetricPolicy {
  std::string name;  // REQUIRED. Unique. Example: "cpu".
  // Utilization that no server should pass. 0 to 1.
  double threshold = 0.9;
  // How far above its share a server may be, as a fraction of the share. 0 and more.
  double tolerance = 0.1;
  // Shares are the same for all servers, not in proportion to their capacities.
  bool even = false;
  // Of its balance among the metrics. Above 0. What is above a share counts as a fraction
  // of the server's capacity, or of the share where there is no limit; with `even`, in
  // the metric's own unit.
  double weight = 1;
};

struct ServerRow {
  // Numbers stand for names. Equal numbers, same domain.
  uint32_t region = 0;
  uint32_t datacenter = 0;  // unique over all regions
  uint32_t rack = 0;        // unique over all datacenters
  bool accepts = true;      // may be given more replicas
  bool draining = false;    // should lose those that it has; accepts none
  bool ordered = false;     // so an operator ordered: draining outranks preferences
};

// Most moves in all, and most that touch one server.
struct MoveCaps {
  uint32_t total = UINT32_MAX;
  uint32_t per_server = UINT32_MAX;
  std::vector<uint32_t> under_way;  // OPTIONAL. One for each server: they touch it already
};

enum class Spread : uint8_t { kServer, kRack, kDatacenter, kRegion };

// At most so many replicas of a shard in one fault domain of a level.
struct SpreadLimit {
  Spread level = Spread::kRegion;
  uint32_t most = 1;
  bool soft = false;  // may be broken where nothing else is left
};

// So many replicas of the shard should be in the region.
struct ShardWish {
  uint32_t shard = 0;
  uint32_t region = 0;  // its number
  uint32_t replicas = 1;
};

struct PlacementInput {
  std::vector<MetricPolicy> metrics;
  std::vector<ServerRow> servers;
  // Row-major [server][metric]. 0 and more; infinity: no limit.
  std::vector<double> capacity;
  // OPTIONAL. Row-major as `capacity`: load of replicas that the input leaves out.
  std::vector<double> other_load;
  // Shard s has the replicas shard_begin[s] to shard_begin[s+1]-1.
  std::vector<uint32_t> shard_begin = {0};
  // OPTIONAL. One for each shard: a region number, or kNoPreference.
  std::vector<uint32_t> preferred_region;
  // OPTIONAL. One for each shard, 1 and more: what its preference weighs among those of others.
  std::vector<uint32_t> preference_weight;
  // OPTIONAL. Ascending by shard; of each shard, each region once.
  std::vector<ShardWish> region_wishes;
  // One for each replica: a position in `servers`, or kNowhere.
  std::vector<uint32_t> server_of;
  // Row-major [replica][metric]. 0 and more.
  std::vector<double> load;
  // OPTIONAL. One for each replica: it stays where it is.
  std::vector<bool> pinned;
  // OPTIONAL. Pairs of a shard and a position in `servers`: no replica of the shard is put on that
  // server. (One that starts there may stay.)
  std::vector<std::pair<uint32_t, uint32_t>> avoided;
  // OPTIONAL. Likewise: no replica of the shard is moved to that server for utilization or balance
  // alone. (One without a server may be put there, and one whose server is to be emptied.)
  std::vector<std::pair<uint32_t, uint32_t>> left;
  // Replicas of a shard never share a fault domain of this level.
  Spread spread = Spread::kServer;
  // OPTIONAL. Each level once. At a level without a soft one, replicas stand as evenly as may be.
  std::vector<SpreadLimit> spread_limits;
  MoveCaps moves;
  MoveCaps drain_moves;  // off servers that are `ordered` to be empty
  // Most shards that two servers should share, so that a failover goes to many servers
  // at once; 1 and more. Default: as many as may be.
  uint32_t most_shared_by_two_servers = UINT32_MAX;

  // Only what matters for a place now: the goals that periodic solving looks after are
  // left out.
  bool emergency = false;

  uint32_t replicas() const { return static_cast<uint32_t>(server_of.size()); }
  uint32_t shards() const { return static_cast<uint32_t>(shard_begin.size()) - 1; }
};

// Priorities of the goals, the highest first.
enum class PlacementGoal : uint8_t {
  kRegionPreference = 1,
  kSpread,
  kMaintenance,
  kUtilization,
  kGlobalBalance,
  kRegionalBalance,
  kParallelFailover,
};

// The problem and the model made of an input.
class PlacementModel {
 public:
  // INVALID_ARGUMENT names the field that is wrong, what was found and what is allowed.
  static absl::StatusOr<std::unique_ptr<PlacementModel>> Make(const PlacementInput& input);

  const solver::Model& model() const { return *model_; }
  const solver::Problem& problem() const { return problem_; }

 private:
  PlacementModel() = default;
  absl::Status AddSpecs(const PlacementInput& input);

  solver::Problem problem_;
  std::unique_ptr<solver::Model> model_;
};

}  // namespace shardmanager::allocator
