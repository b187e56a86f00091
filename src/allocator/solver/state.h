// Where everything stands during a search, and what it costs.
//
// To look for a better place for an object: Lift() it, ask Arrival() of places, its
// old one included, and Put() it down at the best. Costs of two places compare as they
// are, as all else stays where it is; the same questions answer Explain().
//
// Not thread-safe; one state for each search.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "allocator/solver/group_board.h"
#include "allocator/solver/load_board.h"
#include "allocator/solver/model.h"

namespace shardmanager::solver {

class State {
 public:
  // Everything at its start.
  explicit State(const Model& model);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const Model& model() const { return model_; }
  const Problem& problem() const { return problem_; }
  ContainerId where(ObjectId o) const { return where_[o]; }
  std::span<const ObjectId> On(ContainerId c) const { return on_[c]; }
  bool Moved(ObjectId o) const { return where_[o] != problem_.start[o]; }
  bool MayMove(ObjectId o) const { return problem_.pinned.empty() || !problem_.pinned[o]; }

  // Takes an object from where it is, which is returned. It keeps its place in On().
  ContainerId Lift(ObjectId o);
  // REQUIRES: it was lifted from `from`; nothing else changed since, but other lifts
  // and puts. Either container may be invalid: nowhere.
  void Put(ObjectId o, ContainerId to, ContainerId from);
  void Move(ObjectId o, ContainerId to) { Put(o, to, Lift(o)); }
  // What it costs at `to`. REQUIRES: it is lifted. Counts as one step.
  // `fits`: Fits(o, to) is known to be true.
  Score Arrival(ObjectId o, ContainerId to, bool fits = false);
  // What the containers' rules and the container save if `o` leaves `c`, where it is:
  // negative at the levels where it does. Groups and movement are left out.
  Score Relief(ObjectId o, ContainerId c) const;
  // Cheap and one-sided: true means that no load rule would be broken.
  bool Fits(ObjectId o, ContainerId to) const;

  // What there is to pay now: all, for the loads of one container, for one group.
  Score Total() const;
  Score LoadCost(ContainerId c) const;
  Score GroupCost(GroupId g) const;
  bool Overloaded(ContainerId c) const;
  // True: objects pay for being on `c` by a rule other than the container's own limits.
  bool PaysElsewhere(ContainerId c) const;

  // True: an object finds the same at both. (Only for those that differ in nothing.)
  bool Alike(ContainerId a, ContainerId b) const;

  const LoadBoard& containers() const { return boards_.front(); }
  const std::vector<LoadBoard>& boards() const { return boards_; }
  const GroupBoard& group_board() const { return groups_; }
  const std::vector<std::unique_ptr<CustomRule>>& custom() const { return custom_; }

  uint64_t steps() const { return steps_; }
  // Objects that stand elsewhere than at their start.
  uint32_t moved() const { return moved_; }

  // True: nothing may be put there, but what starts there.
  bool ClosedTo(ObjectId o, ContainerId c) const {
    return !problem_.Open(c) && problem_.start[o] != c;
  }

  // The load of `o` in each dimension as it counts on `c`. Valid until the next call.
  const Load* LoadAt(ObjectId o, ContainerId c) const {
    const Load* load = problem_.load.data() + size_t{o.index()} * problem_.metrics.size();
    return any_sticky_ ? StickyLoadAt(o, c, load) : load;
  }
  double MovementCost(ObjectId o, ContainerId to) const;
  double ObjectRuleCost(const ObjectRule& rule, ObjectId o, ContainerId to) const;

 private:
  const Load* StickyLoadAt(ObjectId o, ContainerId c, const Load* load) const;
  void AddStickyLoads();
  void AddToBoards(ObjectId o, ContainerId c);
  void RemoveFromBoards(ObjectId o, ContainerId c);
  void List(ObjectId o, ContainerId c);
  void Unlist(ObjectId o, ContainerId c);

  const Model& model_;
  const Problem& problem_;
  Table<ObjectId, ContainerId> where_;
  Table<ContainerId, std::vector<ObjectId>> on_;
  Table<ObjectId, uint32_t> position_;  // in on_
  std::vector<LoadBoard> boards_;       // the containers' first
  GroupBoard groups_;
  std::vector<std::unique_ptr<CustomRule>> custom_;
  bool any_sticky_ = false;
  mutable std::vector<Load> load_at_;
  uint64_t steps_ = 0;
  uint32_t moved_ = 0;
};

// By level: whether a rule is of that level.
std::vector<bool> LevelsInUse(const State& state);

}  // namespace shardmanager::solver
