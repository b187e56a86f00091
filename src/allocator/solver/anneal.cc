#include "allocator/solver/anneal.h"

#include <algorithm>
#include <cmath>

namespace shardmanager::solver {
namespace {

// All levels in one number. A constraint, or an object without a place, outweighs
// whatever goals there are.
double Energy(const Score& score) {
  double sum = 0;
  for (int l = kFirstGoalLevel; l < kLevels; ++l) sum += score[l];
  return sum;
}

bool BreaksMore(const Score& change) {
  return change[kConstraintLevel] > kTolerance || change[kUnplacedLevel] > kTolerance;
}

}  // namespace

Annealer::Annealer(State& state, uint64_t seed) : state_(state), random_(seed ^ 0xa11ea1) {
  for (uint32_t i = 0; i < state.problem().objects; ++i) {
    if (state.MayMove(ObjectId(i))) movable_.push_back(ObjectId(i));
  }
}

bool Annealer::Accept(const Score& change, double temperature) {
  if (BreaksMore(change)) return false;
  const double rise = Energy(change);
  if (rise > 0 && random_.Fraction() >= std::exp(-rise / temperature)) return false;
  energy_ += rise;
  return true;
}

bool Annealer::TryShift(double temperature) {
  const ObjectId o = movable_[random_.Below(movable_.size())];
  const ContainerId to(random_.Below(state_.problem().containers));
  if (to == state_.where(o)) return false;
  const ContainerId from = state_.Lift(o);
  const Score change = state_.Arrival(o, to) - state_.Arrival(o, from);
  const bool accepted = Accept(change, temperature);
  state_.Put(o, accepted ? to : from, from);
  return accepted;
}

bool Annealer::TrySwap(double temperature) {
  const ObjectId a = movable_[random_.Below(movable_.size())];
  const ObjectId b = movable_[random_.Below(movable_.size())];
  const ContainerId at_a = state_.where(a);
  const ContainerId at_b = state_.where(b);
  if (at_a == at_b || !at_a.valid() || !at_b.valid()) return false;
  state_.Lift(a);
  Score change = Score() - state_.Arrival(a, at_a);
  state_.Lift(b);
  change -= state_.Arrival(b, at_b);
  change += state_.Arrival(a, at_b);
  state_.Put(a, at_b, at_a);
  change += state_.Arrival(b, at_a);
  const bool accepted = Accept(change, temperature);
  if (accepted) {
    state_.Put(b, at_a, at_b);
  } else {
    state_.Put(b, at_b, at_b);
    state_.Move(a, at_a);
  }
  return accepted;
}

void Annealer::Run(const AnnealOptions& options, const Score& best,
                   const std::function<void()>& on_best) {
  if (movable_.empty() || state_.problem().containers < 2) return;
  energy_ = Energy(state_.Total());
  const double scale = std::max(1.0, energy_);
  const uint64_t begin = state_.steps();
  while (state_.steps() - begin < options.steps) {
    const double part =
        static_cast<double>(state_.steps() - begin) / static_cast<double>(options.steps);
    const double progress = options.progress + (options.progress_after - options.progress) * part;
    const double temperature = scale * options.hot * std::pow(options.cold / options.hot, progress);
    for (int i = 0; i < 256; ++i) {
      if (random_.Below(2) == 0) {
        TryShift(temperature);
      } else {
        TrySwap(temperature);
      }
    }
    if (energy_ < Energy(best) - kTolerance) on_best();
  }
}

}  // namespace shardmanager::solver
