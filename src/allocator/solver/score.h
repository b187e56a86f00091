// What a placement costs, level by level: constraints first, then goals in order of
// priority, then movement. Scores compare lexicographically: no gain at a lower
// level makes up for a loss at a higher one, so accepted changes cannot cycle.
#pragma once

#include <array>

namespace shardmanager::solver {

inline constexpr int kConstraintLevel = 0;
inline constexpr int kUnplacedLevel = 1;
inline constexpr int kFirstGoalLevel = 2;
inline constexpr int kMovementLevel = 9;
inline constexpr int kLevels = 10;

// Differences below this are rounding.
inline constexpr double kTolerance = 1e-9;

struct Score {
  std::array<double, kLevels> level{};

  double& operator[](int l) { return level[static_cast<size_t>(l)]; }
  double operator[](int l) const { return level[static_cast<size_t>(l)]; }
  Score& operator+=(const Score& other) {
    for (int l = 0; l < kLevels; ++l) (*this)[l] += other[l];
    return *this;
  }
  Score& operator-=(const Score& other) {
    for (int l = 0; l < kLevels; ++l) (*this)[l] -= other[l];
    return *this;
  }
  friend Score operator-(Score a, const Score& b) { return a -= b; }
  friend Score operator+(Score a, const Score& b) { return a += b; }

  // Lower is better.
  bool BetterThan(const Score& other) const {
    for (int l = 0; l < kLevels; ++l) {
      const double difference = (*this)[l] - other[l];
      if (difference < -kTolerance) return true;
      if (difference > kTolerance) return false;
    }
    return false;
  }

  // True: a constraint is broken, or something has no place.
  bool Invalid() const {
    return (*this)[kConstraintLevel] > kTolerance || (*this)[kUnplacedLevel] > kTolerance;
  }

  // True: nothing costs anything but moves, which do.
  bool OnlyMovement() const {
    for (int l = 0; l < kMovementLevel; ++l) {
      if ((*this)[l] > kTolerance) return false;
    }
    return (*this)[kMovementLevel] > kTolerance;
  }
};

// A change is for the better if it is BetterThan() this.
inline constexpr Score kNoChange{};

}  // namespace shardmanager::solver
