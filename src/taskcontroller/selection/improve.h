// Larger sets by local search: for problems that are too large to be solved exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "taskcontroller/selection/chosen_set.h"

namespace shardmanager::taskcontroller {

// Iterated local search (after Andrade, Resende and Werneck, "Fast local search for the maximum
// independent set problem", J. Heuristics 18, 2012): forces a candidate in, removes those that are
// in its way, fills up what became free, and keeps the result if it is not smaller.
class LocalSearch {
 public:
  struct Limits {
    uint32_t enough = 0;  // stop at this size
    uint64_t steps = 0;   // look at so many replicas at most
    uint64_t seed = 1;
  };

  // `locked`: candidates of `set` that stay in it, whatever it costs.
  LocalSearch(ChosenSet& set, const std::vector<CandidateIndex>& locked, const Limits& limits);

  // Never makes the set smaller.
  void Run();

 private:
  bool OutOfSteps() const { return set_.steps() - steps_before_ + looks_ > limits_.steps; }
  CandidateIndex Draw();
  bool ForceIn(CandidateIndex id);
  bool MakeRoom(ShardIndex shard);
  void FillUp();
  void RollBack();

  ChosenSet& set_;
  const Limits limits_;
  const uint64_t steps_before_;  // of the set
  uint64_t looks_ = 0;           // at candidates and shards, beside the set's
  Random random_;
  std::vector<bool> locked_;
  std::vector<CandidateIndex> outside_;  // may be forced in
  // What the round that is under way did.
  std::vector<CandidateIndex> added_;
  std::vector<CandidateIndex> removed_;
};

}  // namespace shardmanager::taskcontroller
