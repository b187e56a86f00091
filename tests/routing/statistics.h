// How far a figure of an ideal random function strays at most, but for one run in a million. The
// tests compare with these bounds: none is tuned to what was seen.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace shardmanager::routing {

// ln(1 / probability that an ideal function is beyond a bound).
inline constexpr double kLogOdds = 13.8155;  // one in a million

// Of a binomial count: |count - n p| is at most this. Bernstein's inequality: beyond t with
// probability of at most 2 exp(-t^2 / (2 (n p (1 - p) + t / 3))). `events`: how many counts are
// looked at.
inline double BinomialBound(double n, double p, double events = 1) {
  const double l = kLogOdds + std::log(2 * events);
  const double third = l / 3;
  return third + std::sqrt(third * third + 2 * l * n * p * (1 - p));
}

// Of the sum of (seen - expected)^2 / expected with `freedom` degrees of freedom, from above.
// Laurent and Massart, "Adaptive estimation of a quadratic functional by model selection" (2000),
// lemma 1.
inline double ChiSquareBound(double freedom) {
  return freedom + 2 * std::sqrt(freedom * kLogOdds) + 2 * kLogOdds;
}

inline double ChiSquare(const std::vector<uint64_t>& seen, const std::vector<double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    const double off = static_cast<double>(seen[i]) - expected[i];
    sum += off * off / expected[i];
  }
  return sum;
}

// Of the part of a ring that `own` of `points` random points have: beyond this distance from the
// mean with a probability of at most one in a million. The part has the distribution Beta(own,
// points - own), which is sub-Gaussian with variance proxy 1 / (4 (points + 1)) (Marchal and Arbel,
// 2017); as that is wide for small parts, Bernstein's form (Skorski, "Bernstein-type bounds for
// Beta distribution", 2023, theorem 1) is used: beyond e with exp(-e^2 / (2 (v + c e / 3))).
inline double RingPartBound(double own, double points, double events = 1) {
  const double other = points - own;
  const double v = own * other / (points * points * (points + 1));
  const double c = 2 * std::abs(other - own) / (points * (points + 2));
  const double l = kLogOdds + std::log(2 * events);
  const double third = l * c / 3;
  return third + std::sqrt(third * third + 2 * l * v);
}

}  // namespace shardmanager::routing
