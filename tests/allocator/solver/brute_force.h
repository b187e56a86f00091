// A second solver, which tries everything: slow, and simple enough to be believed. It
// shares no rule, cost or search with the real one; both read the same wishes.
#pragma once

#include <vector>

#include "allocator/solver/model.h"

namespace shardmanager::solver {

// What is wished of the placement of a small problem.
struct Wishes {
  bool transient = false;                 // constraint: room for moves in flight
  bool one_per_server = true;             // constraint, of a group's objects
  std::vector<std::vector<int>> only_on;  // constraint: servers of each object; empty: any
  std::vector<int> region;                // priority 1: of each group; -1: any
  bool spread_racks = true;               // priority 2: two racks a group
  std::vector<bool> draining;             // priority 3, of the servers
  double threshold = 0.9;                 // priority 4
  double tolerance = 0.1;                 // priority 5: balance over all servers
};

using Places = std::vector<int>;  // server of each object; -1: nowhere

struct RandomProblem {
  Problem problem;
  Wishes wishes;
};
RandomProblem MakeRandomProblem(uint64_t seed);

// The wishes as specs.
void AddWishes(const Wishes& wishes, Model& model);

// What the places cost, worked out from the wishes' words alone.
Score PriceOf(const RandomProblem& p, const Places& places);

// The best places there are. What starts somewhere stays somewhere.
Places BestPlaces(const RandomProblem& p);

}  // namespace shardmanager::solver
