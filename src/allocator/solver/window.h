// A few objects and a few places, and the best way to bring them together: all ways
// are tried (branch and bound), so that trades of any length are found, as long as
// they stay in the window.
#pragma once

#include <span>
#include <vector>

#include "allocator/solver/anytime/patience.h"
#include "allocator/solver/state.h"

namespace shardmanager::solver {

class Window {
 public:
  explicit Window(State& state);

  // Puts the objects at the best of the places together; their own places and their
  // starts are among them. True if that is better than what stands; otherwise nothing
  // changes. Takes about `most_steps` steps at most, and is exact unless it runs out of
  // them, or of patience. REQUIRES: the objects may move, and each is named once.
  bool Improve(std::span<const ObjectId> objects, std::span<const ContainerId> places,
               uint64_t most_steps, const Patience& patience);

 private:
  struct Seat {
    ObjectId object;
    ContainerId before;  // the search
    ContainerId now;     // where it is listed, lifted or not
    ContainerId best;
    std::vector<ContainerId> places;
    Score cheapest_after;  // what the objects after this one cost, at least
  };
  struct Offer {
    Score score;
    ContainerId place;
  };

  void Collect(std::span<const ObjectId> objects, std::span<const ContainerId> places);
  // What the objects cost where they were, one put after the other. Lifts them.
  Score PriceAndLift();
  void BoundFromBelow();
  void Try(size_t i, const Score& so_far);
  std::vector<Offer> Offers(const Seat& seat);
  void Put(Seat& seat, ContainerId place);

  State& state_;
  bool bounded_ = true;  // costs only grow as objects are put
  std::vector<Seat> seats_;
  Score best_;
  bool improved_ = false;
  uint64_t end_ = 0;                    // state_.steps() at which to stop
  const Patience* patience_ = nullptr;  // during Improve()
};

}  // namespace shardmanager::solver
