// What moves and swaps would change, without making them: the annealer's view of a
// state. The goals are the same as State's, in one number: levels weighed and added.
// Constraints have prices (price.h), so that the way from one placement to a better one
// may lead through some that break them. What would put an object where none may go, or
// break a constraint on single objects or containers, is forbidden.
//
// Not thread-safe. Whoever changes the state otherwise makes a new meter.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "allocator/solver/anneal/group_counts.h"
#include "allocator/solver/anneal/hinge_board.h"

namespace shardmanager::solver {

class ChangeMeter {
 public:
  static constexpr double kForbidden = std::numeric_limits<double>::infinity();

  // `scale`: what all goals cost at a bad time; prices of constraints are set by it.
  ChangeMeter(State& state, const LevelWeights& weights, double scale);

  // What it adds to the goals, and to the constraints at today's prices. Beyond `limit`
  // the answer need not be exact, as long as it is beyond. kForbidden: see above.
  // REQUIRES of all: the objects stand somewhere, and elsewhere than where they go.
  double OfMove(ObjectId o, ContainerId to, double limit) const;
  double OfSwap(ObjectId a, ObjectId b, double limit) const;
  // Does it, forbidden or not, in the state as well. Returns what it adds to the goals alone.
  double Move(ObjectId o, ContainerId to);

  void AdjustPrices(const Price::Policy& policy);
  // From now on no constraint may be broken by more than now. (At first: than when the meter was
  // made.)
  void Settle();
  // True: no constraint is broken by more than it may be.
  bool Keeps() const;
  // Custom constraints that bind groups to one another are hardest to repair: single steps often
  // cannot. From now on what would break one by more than it may be is forbidden, at any price.
  void KeepTies(bool keep) { ties_kept_ = keep; }
  // From now on slopes of goals (rules.h) count beside the goals, by level so much: what moves and
  // swaps seem to add is more or less by them.
  void FollowSlopes(const LevelWeights& parts);

 private:
  struct Custom {
    CustomRule* rule;
    bool hard;
    double weight;     // of a goal
    Price price;       // of a constraint
    double slope = 0;  // of a goal: what one unit of its slope counts

    double Factor() const { return hard ? price.now() : weight; }
  };

  bool Home(ObjectId o, ContainerId c) const { return start_[o] == c; }
  bool Forbids(ObjectId o, ContainerId from, ContainerId to) const;
  void AddCustom(CustomRule& rule, double unit);
  double LoadRise(ObjectId o, ObjectId other, ContainerId from, ContainerId to, double limit) const;
  // What the board's domain sees of a move or swap within it: only what is sticky.
  const HingeBoard::Lane* Within(const HingeBoard& board, ObjectId o, ObjectId other,
                                 ContainerId from, ContainerId to) const;
  // What the change of a custom rule's units costs; kForbidden: a tie that is kept.
  double CustomRise(const Custom& c, double change) const {
    return c.hard && ties_kept_ && change > 0 && c.price.WouldBreak(change) ? kForbidden
                                                                            : c.Factor() * change;
  }
  // What concerns the object alone: its movement, the containers' own costs.
  double OwnRise(ObjectId o, ContainerId from, ContainerId to) const;
  double Weight(int level) const { return weights_[static_cast<size_t>(level)]; }
  void SetMostSaved();

  State& state_;
  const Model& model_;
  const LevelWeights weights_;
  const Table<ObjectId, ContainerId>& start_;
  const Table<ContainerId, bool>& closed_;
  std::vector<HingeBoard> boards_;
  mutable std::vector<HingeBoard::Lane> within_;  // scratch of Within()
  GroupCounts groups_;
  std::vector<Custom> customs_;
  double most_saved_ = 0;              // by any custom rules
  Table<ObjectId, double> move_cost_;  // empty: it depends on where to
  bool ties_kept_ = false;
  bool plain_ = true;  // neither container rules nor object rules
};

}  // namespace shardmanager::solver
