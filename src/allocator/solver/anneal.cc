#include "allocator/solver/anneal.h"

#include <algorithm>
#include <cmath>

namespace shardmanager::solver {
namespace {

// Proposals between two looks at the temperature and at what is best.
constexpr uint64_t kStride = 2048;
// The logarithm of the factor by which prices of broken constraints rise each stride.
constexpr double kPriceStep = 0.02;

// How much of that prices of kept constraints fall: at first each constraint is broken more
// often than not, at the end none is.
double Laxity(double progress) { return 1.5 * std::max(0.0, 0.95 - progress); }

// The last part of the time is for what little there is to gain near by.
constexpr double kQuench = 0.9;
constexpr double kQuenched = 1e-3;  // temperature at its end, as a part of the one before

double Cooling(const AnnealOptions& options, double progress) {
  if (progress < kQuench)
    return options.hot * std::pow(options.cold / options.hot, progress / kQuench);
  return options.cold * std::pow(kQuenched, (progress - kQuench) / (1 - kQuench));
}

// One in so many moves of an object that is away from its start goes back there.
constexpr uint64_t kHomeShare = 3;

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
    : state_(state), random_(seed ^ 0xa11ea1), scale_(Energy(state.Total())) {}

// Objects without a place are the descent's business.
void Annealer::Collect() {
  movable_.clear();
  for (uint32_t i = 0; i < state_.problem().objects; ++i) {
    const ObjectId o(i);
    if (state_.MayMove(o) && state_.where(o).valid()) movable_.push_back(o);
  }
}

bool Annealer::Accepts(const ChangeMeter::Change& change) {
  const double rise = change.goals + change.penalty;
  if (rise > 0) {
    // Also what is forbidden.
    if (rise > 40 * temperature_) return false;
    if (random_.Fraction() >= std::exp(-rise / temperature_)) return false;
  }
  energy_ += change.goals;
  return true;
}

void Annealer::NoteBest(double margin) {
  if (energy_ >= best_energy_ - margin || !meter_->Keeps()) return;
  best_energy_ = energy_;
  (*on_best_)();
}

void Annealer::TryMove() {
  const ObjectId o = movable_[random_.Below(movable_.size())];
  // The way home is tried often: where moves are dear, or bound to what is left at both
  // ends, most objects stay, and the art is which ones do not.
  const ContainerId home = state_.problem().start[o];
  const bool back = home.valid() && state_.Moved(o) && random_.Below(kHomeShare) == 0;
  const ContainerId to = back ? home : ContainerId(random_.Below(state_.problem().containers));
  if (to == state_.where(o)) return;
  if (!Accepts(meter_->OfMove(o, to))) return;
  meter_->Move(o, to);
  NoteBest(temperature_);
}

void Annealer::TrySwap() {
  const ObjectId a = movable_[random_.Below(movable_.size())];
  const ObjectId b = movable_[random_.Below(movable_.size())];
  const ContainerId at_a = state_.where(a);
  const ContainerId at_b = state_.where(b);
  if (at_a == at_b || !Accepts(meter_->OfSwap(a, b))) return;
  meter_->Move(a, at_b);
  meter_->Move(b, at_a);
  NoteBest(temperature_);
}

void Annealer::Run(const AnnealOptions& options, const Score& best,
                   const std::function<void()>& on_best) {
  Collect();
  if (movable_.empty() || state_.problem().containers < 2) return;
  energy_ = Energy(state_.Total());
  scale_ = std::max({scale_, energy_, 1e-6});
  if (!meter_) meter_.emplace(state_, Weights(), scale_);
  best_energy_ = Energy(best);
  on_best_ = &on_best;
  for (uint64_t done = 0; done < options.steps;) {
    const double part = static_cast<double>(done) / static_cast<double>(options.steps);
    const double progress = options.progress + (options.progress_after - options.progress) * part;
    temperature_ = scale_ * Cooling(options, progress);
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
    NoteBest(kTolerance);
    meter_->AdjustPrices(std::exp(kPriceStep), std::exp(kPriceStep * Laxity(progress)));
  }
}

}  // namespace shardmanager::solver
