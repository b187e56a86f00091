// The best placement that a search has seen.
#pragma once

#include "allocator/solver/state.h"

namespace shardmanager::solver {

class Best {
 public:
  // Nothing was noted yet.
  bool empty() const { return where_.empty(); }
  const Score& score() const { return score_; }
  const Table<ObjectId, ContainerId>& where() const { return where_; }
  // Objects that stand elsewhere than at their start.
  uint32_t moves() const { return moves_; }

  // Remembers what stands if it is better than what was noted before. True: it is.
  bool Note(const State& state) {
    const Score score = state.Total();
    if (!empty() && !score.BetterThan(score_)) return false;
    score_ = score;
    where_ = Placement(state);
    moves_ = state.moved();
    return true;
  }
  void Forget() { where_.resize(0); }

  static Table<ObjectId, ContainerId> Placement(const State& state) {
    Table<ObjectId, ContainerId> where(state.problem().objects);
    for (uint32_t i = 0; i < where.size(); ++i) where[ObjectId(i)] = state.where(ObjectId(i));
    return where;
  }

 private:
  Table<ObjectId, ContainerId> where_;
  Score score_;
  uint32_t moves_ = 0;
};

}  // namespace shardmanager::solver
