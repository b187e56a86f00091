#include "day/loads.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shardmanager {
namespace {

constexpr double kSpread = 0.8;     // of the loads of shards: the deviation of their logarithm
constexpr double kSwing = 0.5;      // the peak is at 1.5 times the average, the trough at 0.5
constexpr double kDriftStep = 0.1;  // an hour's, likewise as a logarithm
constexpr double kNoise = 0.1;      // of one report
constexpr double kHour = 3'600;

// Box and Muller.
double Normal(Random& random) {
  const double u = 1 - random.Fraction();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * random.Fraction());
}

// Users of three time zones.
float PeakHour(Random& random) {
  const double part = random.Fraction();
  const double zone = part < 0.6 ? 0 : part < 0.85 ? 5 : 9;
  return static_cast<float>(12 + zone + Normal(random));
}

}  // namespace

DayOfLoads::DayOfLoads(const DayOptions& options) : random_(options.seed) {
  for (uint32_t shard = 0; shard < options.shards; ++shard) {
    base_.push_back(static_cast<float>(std::exp(kSpread * Normal(random_))));
    peak_h_.push_back(PeakHour(random_));
    double drift = 1;
    for (int step = 0; step <= kSteps; ++step) {
      drift_.push_back(static_cast<float>(drift));
      drift *= std::exp(kDriftStep * Normal(random_) - kDriftStep * kDriftStep / 2);
    }
  }
  const double scale = options.peak / Busiest();
  for (float& base : base_) base *= static_cast<float>(scale);
}

double DayOfLoads::Busiest() const {
  double most = 0;
  for (int hour = 0; hour < 24; ++hour) {
    double sum = 0;
    for (uint32_t shard = 0; shard < base_.size(); ++shard) sum += Average(shard, hour * kHour);
    most = std::max(most, sum);
  }
  return most;
}

// Without the drift.
double DayOfLoads::Average(uint32_t shard, double second) const {
  const double angle = 2 * std::numbers::pi * (second / kHour - peak_h_[shard]) / 24;
  return base_[shard] * (1 + kSwing * std::cos(angle));
}

double DayOfLoads::Drift(uint32_t shard, double second) const {
  const float* steps = &drift_[shard * (kSteps + 1)];
  const double at = std::clamp(second / kHour, 0.0, kSteps - 1e-9);
  const auto step = static_cast<int>(at);
  return std::lerp(steps[step], steps[step + 1], at - step);
}

double DayOfLoads::At(uint32_t shard, double second) const {
  return Average(shard, second) * Drift(shard, second);
}

double DayOfLoads::Reported(uint32_t shard, double second) {
  return At(shard, second) * (1 + kNoise * (2 * random_.Fraction() - 1));
}

}  // namespace shardmanager
