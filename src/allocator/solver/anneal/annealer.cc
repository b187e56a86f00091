#include "allocator/solver/anneal/annealer.h"

#include <algorithm>
#include <cmath>

namespace shardmanager::solver {
namespace {

// Proposals between two looks at the temperature, at the prices and at what is best.
constexpr uint64_t kStride = 2048;

// How prices of constraints go (price.h). At first constraints may be broken a little, which
// opens ways that are closed to those who keep them at every step; less and less so, and
// while it is still warm enough to rearrange what stands in the way.
constexpr double kSlack = 0.004;         // at first: the part of all load, or of all objects
constexpr double kSlackEnds = 0.65;      // progress at which nothing is left of it
constexpr double kSlackPower = 4;        // how soon most of it is gone
constexpr double kPriceDoublings = 170;  // up and down, over the whole annealing
constexpr double kMostPriceStep = 0.1;   // of the price's logarithm, between two looks
// Prices of kept constraints fall more slowly towards the end, and do not at the end.
double Laxity(double progress) { return 0.6 * std::max(0.0, 0.95 - progress); }

// The last part of the time is for what little there is to gain near the best.
constexpr double kQuench = 0.9;
// Unless that is far above what stands, which then breaks a constraint by a little: repairing
// that costs less than to start from a best of long ago.
constexpr double kNear = 0.99;
constexpr double kQuenched = 1e-3;  // temperature at its end, as a part of the one before

double Cooling(const AnnealOptions& options, double progress) {
  if (progress < kQuench)
    return options.hot * std::pow(options.cold / options.hot, progress / kQuench);
  return options.cold * std::pow(kQuenched, (progress - kQuench) / (1 - kQuench));
}

Price::Policy PolicyFor(const AnnealOptions& options, double progress) {
  const double course = std::max(options.progress_after - options.progress, 1e-9);
  const double looks = std::max(1.0, static_cast<double>(options.steps) / course / kStride);
  const double step = std::min(kMostPriceStep, kPriceDoublings * std::log(2) / looks);
  const double left = std::max(0.0, 1 - progress / kSlackEnds);
  return {.rise = std::exp(step),
          .fall = std::exp(step * Laxity(progress)),
          .slack = kSlack * std::pow(left, kSlackPower)};
}

// So many moves of an object that is away from its start go back there. Where moves are
// dear, or bound to what is left at both ends, most objects stay, and the art is which ones
// do not.
constexpr double kHomeShare = 0.7;

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
    : state_(state), random_(seed ^ 0xa11ea1), scale_(Energy(state.Total())) {
  const auto n = static_cast<double>(draws_.size());
  for (size_t i = 0; i < draws_.size(); ++i) {
    draws_[i] = static_cast<float>(-std::log((static_cast<double>(i) + 0.5) / n));
  }
}

// Objects without a place are the descent's business.
void Annealer::Collect() {
  movable_.clear();
  for (uint32_t i = 0; i < state_.problem().objects; ++i) {
    const ObjectId o(i);
    if (state_.MayMove(o) && state_.where(o).valid()) movable_.push_back(o);
  }
}

// To draw the limit first is the same as to draw whether a rise is accepted, and leaves out
// what is beyond it.
double Annealer::Limit() { return temperature_ * draws_[random_.Below(draws_.size())]; }

void Annealer::NoteBest(double margin) {
  if (energy_ >= best_energy_ - margin || !meter_->Keeps()) return;
  best_energy_ = energy_;
  best_->Note(state_);
}

void Annealer::TryMove() {
  const ObjectId o = movable_[random_.Below(movable_.size())];
  const ContainerId home = state_.problem().start[o];
  const bool back = home.valid() && state_.Moved(o) && random_.Fraction() < kHomeShare;
  const ContainerId to = back ? home : ContainerId(random_.Below(state_.problem().containers));
  if (to == state_.where(o)) return;
  const double limit = Limit();
  if (meter_->OfMove(o, to, limit) > limit) return;
  energy_ += meter_->Move(o, to);
  NoteBest(temperature_);
}

void Annealer::TrySwap() {
  const ObjectId a = movable_[random_.Below(movable_.size())];
  const ObjectId b = movable_[random_.Below(movable_.size())];
  const ContainerId at_a = state_.where(a);
  const ContainerId at_b = state_.where(b);
  if (at_a == at_b) return;
  const double limit = Limit();
  if (meter_->OfSwap(a, b, limit) > limit) return;
  energy_ += meter_->Move(a, at_b);
  energy_ += meter_->Move(b, at_a);
  NoteBest(temperature_);
}

void Annealer::BackToBest() {
  for (ObjectId o : movable_) {
    const ContainerId to = best_->where()[o];
    if (state_.where(o) != to) energy_ += meter_->Move(o, to);
  }
}

void Annealer::Try(uint64_t steps) {
  for (uint64_t i = 0; i < steps; ++i) {
    if (random_.Next() >> 63 == 0) {
      TryMove();
    } else {
      TrySwap();
    }
  }
  steps_ += steps;
  NoteBest(kTolerance);
}

void Annealer::Run(const AnnealOptions& options, Best& best) {
  Collect();
  if (movable_.empty() || state_.problem().containers < 2) return;
  energy_ = Energy(state_.Total());
  scale_ = std::max({scale_, energy_, 1e-6});
  if (!meter_) meter_.emplace(state_, Weights(), scale_);
  best_energy_ = Energy(best.score());
  best_ = &best;
  for (uint64_t done = 0; done < options.steps;) {
    const double before = progress_;
    const double part = static_cast<double>(done) / static_cast<double>(options.steps);
    progress_ = options.progress + (options.progress_after - options.progress) * part;
    if (before < kQuench && progress_ >= kQuench && energy_ > kNear * best_energy_) BackToBest();
    temperature_ = scale_ * Cooling(options, progress_);
    const uint64_t stride = std::min(kStride, options.steps - done);
    Try(stride);
    done += stride;
    meter_->AdjustPrices(PolicyFor(options, progress_));
  }
}

}  // namespace shardmanager::solver
