// Simulated annealing over a state: see AnnealOptions in search.h.
#pragma once

#include <functional>
#include <vector>

#include "allocator/solver/search.h"
#include "base/random.h"

namespace shardmanager::solver {

class Annealer {
 public:
  Annealer(State& state, uint64_t seed);

  // Calls `on_best` when what stands is better than `best` (which that call updates).
  void Run(const AnnealOptions& options, const Score& best, const std::function<void()>& on_best);

 private:
  bool TryShift(double temperature);
  bool TrySwap(double temperature);
  bool Accept(const Score& change, double temperature);

  State& state_;
  Random random_;
  std::vector<ObjectId> movable_;
  double energy_ = 0;  // change of the weighted sum since Run() began
};

}  // namespace shardmanager::solver
