// The maximum set by branch and bound: for small problems.
#pragma once

#include <cstdint>
#include <vector>

#include "taskcontroller/selection/chosen_set.h"

namespace shardmanager::taskcontroller {

// Searches for a larger set than one that is known.
class ExactSearch {
 public:
  struct Limits {
    uint32_t known = 0;  // size of the set that is known
    uint32_t most = 0;   // no larger set is allowed
    uint64_t steps = 0;  // give up after so many looks at replicas
  };

  // `set`: what every set that is looked at contains. It is as it was after Run(). `order`: who is
  // tried first, so that of several largest sets the one that begins with them is found.
  ExactSearch(ChosenSet& set, const std::vector<CandidateIndex>& order, const Limits& limits);

  // True: best() is a largest set that is allowed, or there is none above the known one. False: out
  // of steps, and best() is the largest that was found.
  bool Run();

  // Empty: none larger than the known one was found.
  const std::vector<CandidateIndex>& best() const { return best_; }

 private:
  bool Search(size_t from);
  bool OutOfSteps() const { return set_.steps() - steps_before_ + cover_steps_ > limits_.steps; }
  bool InNobodysWay(CandidateIndex id) const;
  bool MayBeLarger();
  void Note();

  ChosenSet& set_;
  const std::vector<CandidateIndex>& order_;
  const Limits limits_;
  const uint64_t steps_before_;  // of the set
  uint64_t cover_steps_ = 0;
  uint32_t best_size_;
  std::vector<CandidateIndex> best_;
  std::vector<uint32_t> places_;  // by shard, scratch of MayBeLarger(): counted in its cover
};

}  // namespace shardmanager::taskcontroller
