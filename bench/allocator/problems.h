// Made-up placements for the allocator's benchmarks, each from a seed.
#pragma once

#include <cstdint>

#include "allocator/placement/placement.h"

namespace shardmanager::bench {

struct FleetShape {
  uint32_t servers = 1'000;
  uint32_t shards = 75'000;
  uint32_t replicas_per_shard = 1;
  uint32_t regions = 5;
  uint32_t datacenters_per_region = 2;
  uint32_t servers_per_rack = 20;
  uint32_t metrics = 3;
  // Total load / total capacity, of each metric.
  double load = 0.7;
  // Largest load of a replica / smallest one.
  double skew = 3;
  // Shards with a preferred region.
  double preferences = 0;
  uint64_t seed = 1;
};

// Every replica on a random server.
allocator::PlacementInput RandomStart(const FleetShape& shape);

// Servers filled to `shape.load` in every metric, by shards of up to half a server;
// then shuffled. So a placement without a violation exists.
allocator::PlacementInput PlantedTight(const FleetShape& shape);

// What every server may carry of a metric, by all its limits. (All servers are alike.)
double LimitOf(const allocator::PlacementInput& input, size_t metric);

// A lower bound of the moves that get every server under all its limits: on each
// server, the fewest replicas, largest first, whose leaving gets it under; summed.
uint64_t LeastMoves(const allocator::PlacementInput& input);

}  // namespace shardmanager::bench
