// What annealing needs to know of a problem before it begins: what the levels of the score are
// worth beside one another, and between which temperatures something happens.
#pragma once

#include <array>

#include "allocator/solver/anneal/hinge_board.h"
#include "allocator/solver/state.h"
#include "base/random.h"

namespace shardmanager::solver {

struct Course {
  // Of the goals, so that an object's share of what a level costs is 1, times a factor for each
  // level below: while it is warm enough for one level, those below hardly count, and those
  // above are frozen.
  LevelWeights weights{};
  double hot = 1;
  double cold = 1;
  // By level: it is frozen when it is colder than that.
  LevelWeights frozen{};

  // Where to begin with so many steps for each object.
  double HotFor(double steps) const;
  // Where nothing costs anything but `moves` moves, at `now`: between temperatures at which one
  // more move is nothing much, and at which none is made.
  void ForMoves(const Score& now, double moves);
  double Energy(const Score& score) const {
    double sum = 0;
    for (int l = kFirstGoalLevel; l < kLevels; ++l)
      sum += weights[static_cast<size_t>(l)] * score[l];
    return sum;
  }
};

// `bad`: what the levels cost at a bad time, which is measured by random moves where it is nothing.
// Leaves the state as it was.
Course CourseFor(State& state, const Score& bad, Random& random);

}  // namespace shardmanager::solver
