// Simulated annealing over a state: see AnnealOptions in search.h.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "allocator/solver/anneal/change_meter.h"
#include "allocator/solver/anneal/course.h"
#include "allocator/solver/anneal/seating.h"
#include "allocator/solver/best.h"
#include "allocator/solver/search.h"
#include "base/random.h"

namespace shardmanager::solver {

class Annealer {
 public:
  Annealer(State& state, uint64_t seed);

  // Notes in `best`, which is not empty, what is better than it.
  void Run(const AnnealOptions& options, Best& best);
  // To be called when anybody else changed the state, or another annealing begins.
  void Forget() { meter_.reset(); }

  uint64_t steps() const { return steps_; }

 private:
  // Of all kinds: proposals, and looks at the state in between.
  uint64_t AllStepsSoFar() const { return steps_ + state_.steps(); }
  void Prepare(const AnnealOptions& options);
  void Begin(const AnnealOptions& options);
  void MakeMeter();
  void Collect();
  // Those that constraints which are broken are about; if only moves cost anything, those that
  // moved.
  void CollectFavoured();
  void CollectBlamed();
  // The best keeps every constraint, and all that were seated have a place in it.
  bool Repaired() const;
  void EndRepair();
  // What is to be done before a stride: see the constants in annealer.cc.
  void TurnTo(const AnnealOptions& options, double progress, uint64_t steps_left);
  void Try(uint64_t steps);
  void TryMove();
  void TrySwap();
  ObjectId Draw();
  // What `a` may trade places with.
  ObjectId Partner(ObjectId a);
  // The most that a step may add to be taken (Metropolis et al. 1953).
  double Limit();
  double Temperature(const AnnealOptions& options) const;
  Price::Policy Policy(const AnnealOptions& options) const;
  void NoteBest(double margin);
  // Whatever the energy says: of two levels the higher one decides alone, and in the energy it only
  // counts for more.
  void NoteIfBetter();
  void FollowSlopes();
  void BackToBest();

  State& state_;
  Random random_;
  std::array<float, 1024> draws_;  // quantiles of the exponential distribution
  Score bad_;                      // what the state cost at first, or more if it did
  Course course_;
  std::optional<ChangeMeter> meter_;
  std::vector<ObjectId> movable_;
  std::vector<ObjectId> favoured_;  // every other proposal is for one of these
  double progress_ = 0;
  double kept_at_ = 0;           // progress at which all constraints were kept last
  double steps_per_object_ = 0;  // in the whole annealing
  bool gone_back_ = false;       // from a placement that stayed broken
  bool repairing_ = false;
  uint32_t seated_ = 0;                 // objects, by this annealing
  uint32_t most_seated_ = kMostSeated;  // by the next one
  double unplaced_ = 0;                 // objects, when those were seated
  bool saving_ = false;                 // nothing costs anything but moves
  double temperature_ = 0;
  double energy_ = 0;
  double best_energy_ = 0;
  Best* best_ = nullptr;
  uint64_t steps_ = 0;      // proposals
  uint64_t note_at_ = 0;    // steps from which on the best is noted again
  uint64_t favour_at_ = 0;  // likewise, for CollectFavoured()
};

}  // namespace shardmanager::solver
