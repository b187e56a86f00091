// What moves and swaps would change, without making them: the annealer's view of a
// state. The same costs as State's, in one number: levels weighed and added, and no
// price at all for what would break a constraint (or break it more).
//
// Not thread-safe. Whoever changes the state otherwise makes a new meter.
#pragma once

#include <limits>
#include <vector>

#include "allocator/solver/group_counts.h"
#include "allocator/solver/hinge_board.h"

namespace shardmanager::solver {

class ChangeMeter {
 public:
  static constexpr double kForbidden = std::numeric_limits<double>::infinity();

  ChangeMeter(State& state, const LevelWeights& weights);

  // REQUIRES of all: the objects stand somewhere, and elsewhere than where they go.
  double OfMove(ObjectId o, ContainerId to);
  double OfSwap(ObjectId a, ObjectId b);
  // Does it, in the state as well.
  void Move(ObjectId o, ContainerId to);

 private:
  struct Custom {
    CustomRule* rule;
    double weight;  // 0: a constraint
  };

  bool Home(ObjectId o, ContainerId c) const { return start_[o] == c; }
  bool Open(ObjectId o, ContainerId to) const {
    return closed_.empty() || !closed_[to] || Home(o, to);
  }
  bool KeepsLoads(ObjectId o, ObjectId other, ContainerId from, ContainerId to) const;
  double LoadChange(ObjectId o, ObjectId other, ContainerId from, ContainerId to) const;
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
