// Problems for tests of the selection, and what a second, deliberately simple solver says of them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "taskcontroller/selection/problem.h"

namespace shardmanager::taskcontroller {

struct RandomProblem {
  uint32_t candidates = 10;
  uint32_t shards = 12;
  uint32_t most_shards_each = 4;  // of one candidate
  uint32_t most_room = 2;         // of one shard; 0 is drawn, too
  uint32_t most = UINT32_MAX;
  uint32_t urgent = 0;
};
Problem Draw(const RandomProblem& sizes, Random& random);

// No limit is broken.
bool Fits(const Problem& problem, const std::vector<CandidateIndex>& chosen);

// The size of a largest set, by trying all of them: of those without urgent candidates.
uint32_t LargestByBruteForce(const Problem& problem);

// Shards with one replica in each of three regions, on servers drawn at random; each server is a
// candidate.
Problem SpreadOverRegions(uint32_t servers, uint32_t shards, uint32_t most, Random& random);

}  // namespace shardmanager::taskcontroller
