// One run of the solver on a placement, and what came of it. For the parts of
// bench_allocator.
#pragma once

#include <string>

#include "allocator/placement/placement.h"
#include "allocator/solver/search.h"

namespace shardmanager::bench {

struct SolveResult {
  double build_s = 0;
  double solve_s = 0;
  uint32_t moves = 0;
  uint64_t steps = 0;
  bool finished = false;  // before the steps ran out
  // Servers and shards with something to pay, by a constraint or a goal.
  uint32_t violations = 0;
  std::vector<uint32_t> server_of;  // of each replica

  double total_s() const { return build_s + solve_s; }
};

// Ends the process if the input is refused.
SolveResult SolvePlacement(const allocator::PlacementInput& input,
                           const solver::SearchOptions& options = {});

// Of this process: what else the machine does is not counted.
double CpuSeconds();

// The parts, each with FIGURE lines.
void SmallProblems(const std::string& write_to);
void Ablation();
void SteadyState(const std::string& csv);

}  // namespace shardmanager::bench
