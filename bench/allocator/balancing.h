// Problems of the shard-balancing kind: loads have drifted, and as few shards as possible are to
// move until no server is above the limit.
#pragma once

#include <cstdint>
#include <string>

#include "allocator/solver/problem.h"

namespace shardmanager::bench {

// 1,024 shards on 128 servers, each of which may have 5 % more than the mean. One metric; the
// capacity is the limit. Every shard is on a random server; the largest load is 8 times (odd seeds)
// or 20 times the smallest.
solver::Problem BalancingProblem(uint64_t seed);

// scripts/bench allocator --only moves: so many seconds of processor time each. `write_to`: "", or
// a folder for scripts/prove-small.
void FewestMoves(const std::string& write_to, double seconds);

}  // namespace shardmanager::bench
