// What single moves and chains leave undone, tried by windows: trades within groups
// (roles, for example) and between a few containers. Exact for tiny problems.
#pragma once

#include <algorithm>
#include <vector>

#include "allocator/solver/window.h"
#include "base/random.h"

namespace shardmanager::solver {

class Polish {
 public:
  Polish(State& state, uint64_t seed);

  // True if something got better. Takes about `most_steps` steps at most; all calls
  // together take so many that a large problem does not notice.
  bool Run(uint64_t most_steps, const Patience& patience);

 private:
  bool Tiny() const;
  bool Small() const;
  bool TryAll();
  bool TryGroups();
  bool TryContainers();
  // What to trade between `hot` and `others`.
  bool TryTrade(ContainerId hot, std::span<const ContainerId> others);
  // The same placement with fewer moves, or cheaper ones.
  bool TryMoves();
  void AddResidents(ContainerId home, size_t n);
  void AddSome(ContainerId c, size_t n);
  bool Improve(uint64_t most_steps);
  uint64_t StepsLeft() const {
    const uint64_t steps = state_.steps();
    return steps < end_ ? std::min(end_ - steps, patience_->Left(steps)) : 0;
  }

  State& state_;
  Window window_;
  Random random_;
  std::vector<ContainerId> open_;
  uint64_t spent_ = 0;
  uint64_t end_ = 0;                    // state_.steps() at which to stop
  const Patience* patience_ = nullptr;  // during Run()
  // The window that is tried next.
  std::vector<ObjectId> objects_;
  std::vector<ContainerId> places_;
};

}  // namespace shardmanager::solver
