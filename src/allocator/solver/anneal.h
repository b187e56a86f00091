// Simulated annealing over a state: see AnnealOptions in search.h.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "allocator/solver/change_meter.h"
#include "allocator/solver/search.h"
#include "base/random.h"

namespace shardmanager::solver {

class Annealer {
 public:
  // Temperatures are parts of what the state costs now.
  Annealer(State& state, uint64_t seed);

  // Calls `on_best` when what stands is better than the best before, which cost `best`.
  void Run(const AnnealOptions& options, const Score& best, const std::function<void()>& on_best);

  uint64_t steps() const { return steps_; }

 private:
  void Collect();
  void TryMove();
  void TrySwap();
  bool Accepts(double change);

  State& state_;
  Random random_;
  const double scale_;
  std::optional<ChangeMeter> meter_;
  std::vector<ObjectId> movable_;
  double temperature_ = 0;
  double energy_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace shardmanager::solver
