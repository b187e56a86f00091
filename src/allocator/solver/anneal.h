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
  Annealer(State& state, uint64_t seed);

  // Calls `on_best` when what stands is better than the best before, which cost `best`.
  void Run(const AnnealOptions& options, const Score& best, const std::function<void()>& on_best);
  // To be called when anybody else changed the state.
  void Forget() { meter_.reset(); }

  uint64_t steps() const { return steps_; }

 private:
  void Collect();
  void TryMove();
  void TrySwap();
  bool Accepts(const ChangeMeter::Change& change);
  void NoteBest(double margin);

  State& state_;
  Random random_;
  double scale_;  // temperatures are parts of it: the most that the state cost
  std::optional<ChangeMeter> meter_;
  std::vector<ObjectId> movable_;
  double temperature_ = 0;
  double energy_ = 0;
  double best_energy_ = 0;
  const std::function<void()>* on_best_ = nullptr;
  uint64_t steps_ = 0;
};

}  // namespace shardmanager::solver
