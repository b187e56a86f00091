// The search for a better placement, by local changes that each make the score
// lexicographically better.
//
//   Search search(model, {.seed = 1});
//   search.Descend();                 // to a local optimum, or out of steps
//   search.Anneal({.steps = 100'000, .progress = 0.5});   // for those with time
//   Table<ObjectId, ContainerId> where = search.Where();
//
// Deterministic: the same model, options and calls give the same answer. No clock:
// budgets are steps (one look at one place for one object); who has a deadline calls
// with small budgets and looks at a clock in between.
#pragma once

#include <cstdint>
#include <memory>

#include "allocator/solver/anytime/patience.h"
#include "allocator/solver/state.h"

namespace shardmanager::solver {

struct SearchOptions {
  uint64_t seed = 1;
  // Steps in all, over all calls of Descend().
  uint64_t step_budget = UINT64_MAX;
  // Stop when so many objects are away from their starts.
  uint32_t most_moves = UINT32_MAX;
  // OPTIONAL. What makes it fast; each can be left out to see what it is worth.
  bool grouped_targets = true;  // look for targets among the emptiest of each domain
  bool large_first = true;      // the objects that relieve most go first
  bool batches = true;          // goals of one priority are repaired before the next
  bool equivalence = true;      // of objects or containers that are alike, try one
  // Only place what is nowhere; leave all else alone.
  bool emergency = false;
};

struct AnnealOptions {
  // Steps of this call.
  uint64_t steps = 1'000'000;
  // How much of the whole annealing was over before this call, and will be after it:
  // 0 (hot) to 1 (cold).
  double progress = 0;
  double progress_after = 1;
  // Another annealing begins, with prices and temperatures of its own.
  bool anew = false;
  // Temperatures as parts of what all goals cost at a bad time. 0: those that follow from what the
  // goals cost for each object, and from the steps that there are for it.
  double hot = 0;
  double cold = 0;
};

class Search {
 public:
  // REQUIRES: the model outlives it.
  Search(const Model& model, const SearchOptions& options);
  ~Search();

  // Places what is nowhere, repairs what is broken, then improves until nothing does.
  // False: out of steps before that.
  bool Descend() { return Descend(Patience()); }
  // The same; no longer than `patience` lasts.
  bool Descend(const Patience& patience);

  // Another way to repair what a descent left broken for want of room, or without a place: not from
  // what stands but from the start, by moves and trades that each mend a container (mending.h), and
  // by a descent from there. Stands on the better of both. False: it did not try, as nothing is to
  // be repaired, or all containers together have too little room.
  bool Mend(const Patience& patience);

  // Simulated annealing (Kirkpatrick, Gelatt, Vecchi 1983) with single moves and swaps
  // on the sum of all goals. Constraints may be broken on the way, less and less; the best
  // seen, which is kept, breaks no more than the start. Towards the end of the annealing
  // the search goes on from there.
  void Anneal(const AnnealOptions& options);

  // Stands on that from now on, whatever it has seen before.
  void GoOnFrom(const Table<ObjectId, ContainerId>& where);

  // The best placement seen, and its score.
  Table<ObjectId, ContainerId> Where() const;
  Score BestScore() const;
  // Of the best placement: objects that stand elsewhere than at their start.
  uint32_t Moves() const;
  uint64_t steps() const;
  // What the search stands on now (after Descend(): the best).
  const State& state() const;
  // For Explain() and its like, which leave it as it was.
  State& mutable_state();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shardmanager::solver
