#include "allocator/solver/mending.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace shardmanager::solver {
namespace {

class Mender {
 public:
  Mender(State& state, const Patience& patience) : state_(state), patience_(patience) {}

  // What mends one container may break another one, by less: that one has its turn afterwards.
  void Run() {
    bool mended = true;
    while (mended) {
      mended = false;
      const std::vector<ContainerId> broken = BrokenWorstFirst();
      SortPartners();
      for (size_t i = 0; i < broken.size(); ++i) {
        const uint64_t left = patience_.Left(state_.steps());
        if (left == 0) return;
        mended |= Mend(broken[i], state_.steps() + left / (broken.size() - i));
      }
    }
  }

 private:
  // `a` goes to where `b` stands, and `b` to where `a` does. No `b`: `a` goes there alone.
  struct Trade {
    ObjectId a;
    ObjectId b;
    ContainerId to;
    Score change;
  };

  double BrokenBy(ContainerId c) const { return state_.LoadCost(c)[kConstraintLevel]; }

  std::vector<ContainerId> BrokenWorstFirst() const {
    std::vector<std::pair<double, ContainerId>> broken;
    for (uint32_t i = 0; i < state_.problem().containers; ++i) {
      const double by = BrokenBy(ContainerId(i));
      if (by > kTolerance) broken.emplace_back(-by, ContainerId(i));
    }
    std::sort(broken.begin(), broken.end());
    std::vector<ContainerId> containers;
    for (const auto& [by, c] : broken) containers.push_back(c);
    return containers;
  }

  // The emptiest first.
  void SortPartners() {
    std::vector<std::pair<double, ContainerId>> open;
    for (uint32_t i = 0; i < state_.problem().containers; ++i) {
      if (!state_.problem().Open(ContainerId(i))) continue;
      open.emplace_back(state_.containers().Fill(DomainId(i)), ContainerId(i));
    }
    std::sort(open.begin(), open.end());
    partners_.clear();
    for (const auto& [fill, c] : open) partners_.push_back(c);
  }

  // True: something got better.
  bool Mend(ContainerId c, uint64_t end) {
    bool mended = false;
    while (BrokenBy(c) > kTolerance && !Over(end)) {
      const Trade best = BestTrade(c, end);
      if (!best.a.valid()) break;
      if (best.b.valid()) state_.Move(best.b, c);
      state_.Move(best.a, best.to);
      mended = true;
    }
    return mended;
  }

  // With the first partner with which there is one that mends it whole; else, of all.
  Trade BestTrade(ContainerId c, uint64_t end) {
    const double whole = kTolerance - BrokenBy(c);
    Trade best{};
    for (const ContainerId partner : partners_) {
      if (partner != c) Look(c, partner, end, best);
      if (Over(end)) break;
      if (best.change[kConstraintLevel] <= whole) break;
    }
    return best;
  }

  bool Over(uint64_t end) const { return state_.steps() >= end || patience_.Over(state_.steps()); }

  void Look(ContainerId c, ContainerId partner, uint64_t end, Trade& best) {
    here_.assign(state_.On(c).begin(), state_.On(c).end());
    there_.assign(state_.On(partner).begin(), state_.On(partner).end());
    for (const ObjectId a : here_) {
      if (Over(end)) return;
      if (!state_.MayMove(a)) continue;
      state_.Lift(a);
      const Score leaves = kNoChange - state_.Arrival(a, c);
      Consider({a, ObjectId(), partner, leaves + state_.Arrival(a, partner)}, c, best);
      for (const ObjectId b : there_) {
        if (!state_.MayMove(b)) continue;
        Consider({a, b, partner, leaves + ChangeOf(a, b, c, partner)}, c, best);
      }
      state_.Put(a, c, c);
    }
  }

  // Beside what `a` saves by leaving `c`, from where it was lifted.
  Score ChangeOf(ObjectId a, ObjectId b, ContainerId c, ContainerId partner) {
    state_.Lift(b);
    Score change = state_.Arrival(b, c) - state_.Arrival(b, partner);
    state_.Put(b, c, partner);
    change += state_.Arrival(a, partner);
    state_.Lift(b);
    state_.Put(b, partner, c);
    return change;
  }

  void Consider(const Trade& trade, ContainerId c, Trade& best) {
    if (trade.change[kConstraintLevel] >= -kTolerance) return;
    if (trade.change.BetterThan(best.change) && !BreaksCustom(trade, c)) best = trade;
  }

  // (To the score, one constraint is as good as another.)
  bool BreaksCustom(const Trade& trade, ContainerId c) {
    double change = 0;
    state_.Put(trade.a, c, c);
    for (const auto& rule : state_.custom()) {
      if (rule->level() != kConstraintLevel) continue;
      change += trade.b.valid() ? rule->SwapChange(trade.a, c, trade.b, trade.to)
                                : rule->MoveChange(trade.a, c, trade.to);
    }
    state_.Lift(trade.a);
    return change > kTolerance;
  }

  State& state_;
  const Patience& patience_;
  std::vector<ContainerId> partners_;
  std::vector<ObjectId> here_;  // scratch
  std::vector<ObjectId> there_;
};

}  // namespace

void MendLoads(State& state, const Patience& patience) { Mender(state, patience).Run(); }

}  // namespace shardmanager::solver
