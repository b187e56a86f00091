// What moves and swaps would change, without making them: the annealer's view of a
// state. The goals are the same as State's, in one number: levels weighed and added.
// Constraints on sums of loads have prices, so that the way from one placement to a
// better one may lead through some that break them; prices rise as long as they are
// broken (strategic oscillation: Glover 1977). What would break any other constraint
// (or break it more) is forbidden.
//
// Not thread-safe. Whoever changes the state otherwise makes a new meter.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "allocator/solver/group_counts.h"
#include "allocator/solver/hinge_board.h"

namespace shardmanager::solver {

class ChangeMeter {
 public:
  static constexpr double kForbidden = std::numeric_limits<double>::infinity();

  // `scale`: what all goals cost at a bad time; prices of constraints are set by it.
  ChangeMeter(State& state, const LevelWeights& weights, double scale);

  struct Change {
    double goals = 0;    // kForbidden: see above
    double penalty = 0;  // at today's prices
  };

  // REQUIRES of all: the objects stand somewhere, and elsewhere than where they go.
  Change OfMove(ObjectId o, ContainerId to);
  Change OfSwap(ObjectId a, ObjectId b);
  // Does it, in the state as well.
  void Move(ObjectId o, ContainerId to);

  void AdjustPrices(double rise, double fall) {
    for (HingeBoard& board : boards_) board.AdjustPrices(rise, fall);
  }
  // True: no constraint is broken by more than when the meter was made.
  bool Keeps() const {
    return std::all_of(boards_.begin(), boards_.end(),
                       [](const HingeBoard& board) { return board.Keeps(); });
  }

 private:
  struct Custom {
    CustomRule* rule;
    double weight;  // 0: a constraint
  };

  bool Home(ObjectId o, ContainerId c) const { return start_[o] == c; }
  bool Open(ObjectId o, ContainerId to) const {
    return closed_.empty() || !closed_[to] || Home(o, to);
  }
  void AddLoadChange(ObjectId o, ObjectId other, ContainerId from, ContainerId to,
                     Change& change) const;
  // What the board's domain sees of a move or swap within it: only what is sticky.
  const double* Within(const HingeBoard& board, ObjectId o, ObjectId other, ContainerId from,
                       ContainerId to) const;
  // What concerns the object alone: its movement, the containers' own costs.
  bool AddOwnChange(ObjectId o, ContainerId from, ContainerId to, double& change) const;
  double Weight(int level) const { return weights_[static_cast<size_t>(level)]; }

  State& state_;
  const Model& model_;
  const LevelWeights weights_;
  const Table<ObjectId, ContainerId>& start_;
  const Table<ContainerId, bool>& closed_;
  std::vector<HingeBoard> boards_;
  mutable std::vector<double> within_;  // scratch of Within()
  GroupCounts groups_;
  std::vector<Custom> hard_;
  std::vector<Custom> goals_;
  Table<ObjectId, double> move_cost_;  // empty: it depends on where to
  bool plain_ = true;                  // neither container rules nor object rules
};

}  // namespace shardmanager::solver
