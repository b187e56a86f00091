// Simulated annealing over a state: see AnnealOptions in search.h.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "allocator/solver/anneal/change_meter.h"
#include "allocator/solver/best.h"
#include "allocator/solver/search.h"
#include "base/random.h"

namespace shardmanager::solver {

class Annealer {
 public:
  Annealer(State& state, uint64_t seed);

  // Notes in `best`, which is not empty, what is better than it.
  void Run(const AnnealOptions& options, Best& best);
  // To be called when anybody else changed the state.
  void Forget() { meter_.reset(); }

  uint64_t steps() const { return steps_; }

 private:
  void Collect();
  void Try(uint64_t steps);
  void TryMove();
  void TrySwap();
  // The most that a step may add to be taken (Metropolis et al. 1953).
  double Limit();
  void NoteBest(double margin);
  void BackToBest();

  State& state_;
  Random random_;
  std::array<float, 1024> draws_;  // quantiles of the exponential distribution
  double scale_;                   // temperatures are parts of it: the most that the state cost
  std::optional<ChangeMeter> meter_;
  std::vector<ObjectId> movable_;
  double progress_ = 0;
  double temperature_ = 0;
  double energy_ = 0;
  double best_energy_ = 0;
  Best* best_ = nullptr;
  uint64_t steps_ = 0;
};

}  // namespace shardmanager::solver
