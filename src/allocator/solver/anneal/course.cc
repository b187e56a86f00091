#include "allocator/solver/anneal/course.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace shardmanager::solver {
namespace {

// Temperatures of a level, as parts of what it costs for each object: an object that is moved for
// nothing costs a few times its share; what is left to gain at the end is a small part of it.
constexpr double kHot = 4;
constexpr double kCold = 0.01;
// So many steps for each object, or more, can find the way back from there. With fewer it begins
// colder, and less of what stands is given up.
constexpr double kStepsFromHot = 2000;
constexpr double kLeastHot = 0.2;  // as a part of kHot

// The same where only moves cost anything, as parts of what one of them costs.
constexpr double kHotForMoves = 0.5;
constexpr double kColdForMoves = 0.05;

// What a level is worth beside the next one; less if there are so many that sums would get inexact.
constexpr double kLevelFactor = 30;
constexpr double kMostFactor = 1e9;  // of all levels together

constexpr int kSamples = 512;

// The mean of what a random move changes at each level.
Score MeanChange(State& state, Random& random) {
  Score sum;
  int moves = 0;
  for (int i = 0; i < kSamples; ++i) {
    const ObjectId o(random.Below(state.problem().objects));
    const ContainerId to(random.Below(state.problem().containers));
    const ContainerId from = state.where(o);
    if (!from.valid() || from == to || !state.MayMove(o)) continue;
    state.Lift(o);
    const Score change = state.Arrival(o, to) - state.Arrival(o, from);
    state.Put(o, from, from);
    for (int l = 0; l < kLevels; ++l) sum[l] += std::abs(change[l]);
    ++moves;
  }
  for (double& level : sum.level) level /= std::max(1, moves);
  return sum;
}

}  // namespace

double Course::HotFor(double steps) const {
  return hot * std::clamp(steps / kStepsFromHot, kLeastHot, 1.0);
}

void Course::ForMoves(const Score& now, double moves) {
  const double move = Energy(now) / std::max(1.0, moves);
  hot = kHotForMoves * move;
  cold = kColdForMoves * move;
}

Course CourseFor(State& state, const Score& bad, Random& random) {
  const std::vector<bool> used = LevelsInUse(state);
  const Score change = MeanChange(state, random);
  const Score now = state.Total();
  int top = kFirstGoalLevel;  // the first that costs anything
  while (top < kLevels - 1 && now[top] <= kTolerance) ++top;
  const auto levels =
      static_cast<double>(std::count(used.begin() + kFirstGoalLevel, used.end(), true));
  const double factor = std::min(kLevelFactor, std::pow(kMostFactor, 1 / std::max(1.0, levels)));
  const double objects = std::max<double>(1, state.problem().objects);
  Course course;
  double worth = 1;
  course.hot = kHot;
  course.cold = kCold;
  for (int l = kLevels - 1; l >= kFirstGoalLevel; --l) {
    if (!used[static_cast<size_t>(l)]) continue;
    double share = bad[l] > kTolerance ? bad[l] / objects : change[l];
    // However little it costs now: it is to be given up for levels above it.
    if (l > top) share = std::max(share, change[l]);
    course.weights[static_cast<size_t>(l)] = share > 0 ? worth / share : worth;
    course.frozen[static_cast<size_t>(l)] = kCold * worth;
    if (now[l] > kTolerance) course.hot = kHot * worth;
    worth *= factor;
  }
  return course;
}

}  // namespace shardmanager::solver
