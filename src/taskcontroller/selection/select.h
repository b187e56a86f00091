// Which operations may go ahead together: a maximum set that breaks no limit.
//
//   1. The urgent ones, in their order, each if it fits. One that does not fit now may keep its
//   room
//      (Candidate::reserves), so that others cannot put it off for ever.
//   2. The others, one fault domain after the other. Most often this reaches the limit of the
//      number of candidates, or nothing is in anybody's way: then it is a maximum.
//   3. If not: of a small problem, a maximum by branch and bound (exact.h).
//   4. Of a large one: the best of several orders, then local search (improve.h), until the set
//      reaches what a bound proves to be the most (bound.h), or out of steps.
//
// A set that is found in a later phase replaces an earlier one only if it is larger: of sets of
// one size, the one that is better aligned with fault domains and older operations is kept.
#pragma once

#include <cstdint>
#include <vector>

#include "taskcontroller/selection/problem.h"

namespace shardmanager::taskcontroller {

struct SelectOptions {
  // Looks at a replica, 5 to 10 ns each, for phase 3 and for the local search of phase 4. What is
  // to be done anyway (phases 1 and 2) is not counted.
  uint64_t exact_steps = 2'000'000;
  uint64_t search_steps = 1'000'000;
  // Problems up to this size are tried exactly.
  size_t most_for_exact = 48;
  uint64_t seed = 1;
};

struct Selection {
  std::vector<CandidateIndex> chosen;  // ascending
  // No set that has the urgent ones of `chosen`, and respects what is reserved, is larger. At
  // chosen.size() the set is proved to be a maximum.
  uint32_t at_most = 0;

  bool proven() const { return chosen.size() == at_most; }
};

// The same problem and options give the same answer.
Selection Select(const Problem& problem, const SelectOptions& options = {});

}  // namespace shardmanager::taskcontroller
