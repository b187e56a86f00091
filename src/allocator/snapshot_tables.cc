#include "allocator/snapshot_tables.h"

#include <algorithm>
#include <limits>

namespace shardmanager::allocator {
namespace {

constexpr char kReplicas[] = "replicas";
// By itself, the number of replicas is balanced exactly. Beside measured loads it gives
// way: a server may hold a quarter above the mean, or two; and one replica too many
// weighs as little as a thousandth of a share of load.
constexpr double kCountTolerance = 0.25;
constexpr double kCountSlack = 2;
constexpr double kCountWeight = 1e-3;
// Sums beyond it say no more.
constexpr double kMostAmount = 1e15;

}  // namespace

SnapshotTables::SnapshotTables(const Snapshot& snapshot, const Options& options)
    : snapshot_(snapshot) {
  AddMetrics();
  input_.spread = snapshot.spread;
  input_.spread_limits = snapshot.spread_limits;
  input_.emergency = options.mode == Mode::kEmergency;
  if (options.mode == Mode::kPeriodic) {
    input_.moves = {options.moves.total, options.moves.per_server, {}};
    input_.drain_moves = {options.drain_moves.total, options.drain_moves.per_server, {}};
  }
  for (size_t i = 0; i < snapshot.servers.size(); ++i) AddServer(i);
  for (const ShardInfo& shard : snapshot.shards) AddShard(shard);
  if (!snapshot.metrics.empty()) LoosenCount();
}

const ShardInfo& SnapshotTables::shard_of(uint32_t replica) const {
  const auto after =
      std::upper_bound(input_.shard_begin.begin(), input_.shard_begin.end(), replica);
  return snapshot_.shards[static_cast<size_t>(after - input_.shard_begin.begin()) - 1];
}

void SnapshotTables::AddMetrics() {
  input_.metrics.push_back({.name = kReplicas, .threshold = 1, .tolerance = 0, .even = true});
  for (const MetricInfo& metric : snapshot_.metrics) {
    input_.metrics.push_back(
        {.name = metric.name, .threshold = metric.threshold, .tolerance = metric.tolerance});
  }
}

void SnapshotTables::LoosenCount() {
  double count = input_.replicas();
  for (const ServerInfo& server : snapshot_.servers) count += server.other_replicas;
  const double mean = count / std::max<double>(1, static_cast<double>(snapshot_.servers.size()));
  MetricPolicy& policy = input_.metrics.front();
  policy.weight = kCountWeight;
  policy.tolerance = std::max(kCountTolerance, kCountSlack / std::max(mean, 1e-5));
}

void SnapshotTables::AddServer(size_t position) {
  const ServerInfo& server = snapshot_.servers[position];
  input_.servers.push_back({.region = server.region,
                            .datacenter = server.datacenter,
                            .rack = server.rack,
                            .accepts = server.accepts,
                            .draining = server.draining,
                            .ordered = server.ordered});
  input_.capacity.push_back(server.capacity == 0 ? std::numeric_limits<double>::infinity()
                                                 : server.capacity);
  input_.other_load.push_back(server.other_replicas);
  input_.moves.under_way.push_back(server.moves);
  input_.drain_moves.under_way.push_back(server.drain_moves);
  for (size_t m = 0; m < snapshot_.metrics.size(); ++m) {
    const size_t cell = position * snapshot_.metrics.size() + m;
    input_.capacity.push_back(snapshot_.capacity[cell]);
    input_.other_load.push_back(std::min(kMostAmount, snapshot_.other_load[cell]));
  }
}

void SnapshotTables::AddShard(const ShardInfo& shard) {
  for (const ReplicaInfo& replica : shard.replicas) {
    AddReplica(PositionOf(replica.server), replica.role, replica.movable);
    ++load_row_;
  }
  for (size_t i = shard.replicas.size(); i < shard.wanted_replicas; ++i) {
    AddReplica(kNowhere, shard.new_role, true);
  }
  ++load_row_;
  const uint32_t position = input_.shards();
  for (ServerIndex server : shard.avoided)
    input_.avoided.emplace_back(position, PositionOf(server));
  for (ServerIndex server : shard.left) input_.left.emplace_back(position, PositionOf(server));
  input_.shard_begin.push_back(input_.replicas());
  input_.preferred_region.push_back(
      shard.preferred_region == ShardInfo::kNoRegion ? kNoPreference : shard.preferred_region);
  input_.preference_weight.push_back(shard.preference_weight);
  const auto add_wish = [&](const RegionWish& wish) {
    input_.region_wishes.push_back({position, wish.region, wish.replicas});
  };
  std::for_each(shard.region_wishes.begin(), shard.region_wishes.end(), add_wish);
  if (shard.region_wishes.empty()) {
    std::for_each(snapshot_.region_wishes.begin(), snapshot_.region_wishes.end(), add_wish);
  }
}

void SnapshotTables::AddReplica(uint32_t server, Role role, bool movable) {
  input_.server_of.push_back(server);
  input_.pinned.push_back(!movable);
  roles_.push_back(role);
  input_.load.push_back(1);
  const size_t metrics = snapshot_.metrics.size();
  for (size_t m = 0; m < metrics; ++m) {
    input_.load.push_back(snapshot_.load[load_row_ * metrics + m]);
  }
}

uint32_t SnapshotTables::PositionOf(ServerIndex server) const {
  const auto at =
      std::lower_bound(snapshot_.servers.begin(), snapshot_.servers.end(), server,
                       [](const ServerInfo& info, ServerIndex id) { return info.server < id; });
  return static_cast<uint32_t>(at - snapshot_.servers.begin());
}

}  // namespace shardmanager::allocator
