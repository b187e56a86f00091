#include "allocator/solver/anneal.h"

#include <algorithm>
#include <cmath>

namespace shardmanager::solver {
namespace {

// Proposals between two looks at the temperature and at what is best.
constexpr uint64_t kStride = 2048;

// Goals add up; constraints are kept.
LevelWeights Weights() {
  LevelWeights weights{};
  for (int l = kFirstGoalLevel; l < kLevels; ++l) weights[static_cast<size_t>(l)] = 1;
  return weights;
}

double Energy(const Score& score) {
  double sum = 0;
  for (int l = kFirstGoalLevel; l < kLevels; ++l) sum += score[l];
  return sum;
}

}  // namespace

Annealer::Annealer(State& state, uint64_t seed)
    : state_(state), random_(seed ^ 0xa11ea1), scale_(std::max(1e-6, Energy(state.Total()))) {}

// Objects without a place are the descent's business.
void Annealer::Collect() {
  movable_.clear();
  for (uint32_t i = 0; i < state_.problem().objects; ++i) {
    const ObjectId o(i);
    if (state_.MayMove(o) && state_.where(o).valid()) movable_.push_back(o);
  }
}

bool Annealer::Accepts(double change) {
  if (change > 0) {
    // Also what is forbidden.
    if (change > 40 * temperature_) return false;
    if (random_.Fraction() >= std::exp(-change / temperature_)) return false;
  }
  energy_ += change;
  return true;
}

void Annealer::TryMove() {
  const ObjectId o = movable_[random_.Below(movable_.size())];
  const ContainerId to(random_.Below(state_.problem().containers));
  if (to == state_.where(o)) return;
  if (Accepts(meter_->OfMove(o, to))) meter_->Move(o, to);
}

void Annealer::TrySwap() {
  const ObjectId a = movable_[random_.Below(movable_.size())];
  const ObjectId b = movable_[random_.Below(movable_.size())];
  const ContainerId at_a = state_.where(a);
  const ContainerId at_b = state_.where(b);
  if (at_a == at_b || !Accepts(meter_->OfSwap(a, b))) return;
  meter_->Move(a, at_b);
  meter_->Move(b, at_a);
}

void Annealer::Run(const AnnealOptions& options, const Score& best,
                   const std::function<void()>& on_best) {
  Collect();
  if (movable_.empty() || state_.problem().containers < 2) return;
  meter_.emplace(state_, Weights());
  energy_ = Energy(state_.Total());
  double best_energy = Energy(best);
  for (uint64_t done = 0; done < options.steps;) {
    const double part = static_cast<double>(done) / static_cast<double>(options.steps);
    const double progress = options.progress + (options.progress_after - options.progress) * part;
    temperature_ = scale_ * options.hot * std::pow(options.cold / options.hot, progress);
    const uint64_t stride = std::min(kStride, options.steps - done);
    for (uint64_t i = 0; i < stride; ++i) {
      if (random_.Next() >> 63 == 0) {
        TryMove();
      } else {
        TrySwap();
      }
    }
    done += stride;
    steps_ += stride;
    if (energy_ >= best_energy - kTolerance) continue;
    best_energy = energy_;
    on_best();
  }
}

}  // namespace shardmanager::solver
