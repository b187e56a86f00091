// What single moves cannot repair: swaps and ejection chains. An object goes where it
// does not fit, and others leave there for it, as far as that makes the whole better.
#include <algorithm>

#include "allocator/solver/descent.h"

namespace shardmanager::solver {
namespace {

constexpr size_t kObjectsPerContainer = 12;  // tried, most relief first
constexpr size_t kTargetsPerObject = 24;     // tried for each of them
constexpr int kDepth = 2;                    // ejections that eject further
constexpr int kEjections = 4;                // from one container

// Where there is no room at all chains would go on for ever, for next to nothing. From
// the first one on the search may take so many steps, and so many times those before.
constexpr uint64_t kStepsForConstraints = 1'000'000;
constexpr uint64_t kTimesForConstraints = 10;
constexpr uint64_t kStepsForGoals = 200'000;
constexpr uint64_t kTimesForGoals = 2;

}  // namespace

void Descent::Shift(ObjectId o, ContainerId to, Score& change) {
  const ContainerId from = state_.Lift(o);
  change -= state_.Arrival(o, from);
  change += state_.Arrival(o, to);
  state_.Put(o, to, from);
  log_.push_back({o, from});
}

void Descent::RollBack(size_t to) {
  while (log_.size() > to) {
    state_.Move(log_.back().object, log_.back().from);
    log_.pop_back();
  }
}

Score Descent::Eject(ContainerId c, ObjectId keep, int depth) {
  Score change;
  std::vector<Candidate> ranked;
  for (int i = 0; i < kEjections && state_.Overloaded(c); ++i) {
    RankByRelief(c, ranked);
    bool moved = false;
    for (size_t k = 0; k < std::min(ranked.size(), kObjectsPerContainer) && !moved; ++k) {
      const ObjectId o = ranked[k].object;
      if (o == keep) continue;
      const ContainerId from = state_.Lift(o);
      const Score here = state_.Arrival(o, from);
      Score there = here;
      const ContainerId to = BestPlace(o, from, there);
      state_.Put(o, to, from);
      if (to == from) continue;
      log_.push_back({o, from});
      change += there - here;
      if (depth > 0 && state_.Overloaded(to)) change += Eject(to, o, depth - 1);
      moved = true;
    }
    if (!moved) break;
  }
  return change;
}

bool Descent::TryChain(ObjectId o, ContainerId to, int depth) {
  const size_t mark = log_.size();
  Score change;
  Shift(o, to, change);
  change += Eject(to, o, depth);
  if (change.BetterThan(kNoChange)) {
    log_.resize(mark);
    return true;
  }
  RollBack(mark);
  return false;
}

bool Descent::RelieveByChains(ContainerId c) {
  std::vector<Candidate> ranked;
  RankByRelief(c, ranked);
  std::vector<ContainerId> targets;
  for (size_t k = 0; k < std::min(ranked.size(), kObjectsPerContainer); ++k) {
    targets.clear();
    targets_.SampleEvenly(kTargetsPerObject, targets);
    for (ContainerId to : targets) {
      if (OutOfSteps()) return false;
      if (to != c && TryChain(ranked[k].object, to, kDepth)) return true;
    }
  }
  return false;
}

bool Descent::PlaceByChain(ObjectId o) {
  if (options_.emergency || !MayChain(true)) return false;
  std::vector<ContainerId> targets;
  targets_.SampleEvenly(kTargetsPerObject, targets);
  return std::any_of(targets.begin(), targets.end(),
                     [&](ContainerId to) { return !OutOfSteps() && TryChain(o, to, kDepth); });
}

// `hard`: for the sake of a constraint, or of an object without a place.
bool Descent::MayChain(bool hard) {
  if (!steps_before_chains_) steps_before_chains_ = state_.steps();
  const uint64_t before = *steps_before_chains_;
  return state_.steps() - before < (hard ? kStepsForConstraints + before * kTimesForConstraints
                                         : kStepsForGoals + before * kTimesForGoals);
}

bool Descent::RepairByChains() {
  bool improved = false;
  for (ContainerId c : HotContainers(kMovementLevel - 1)) {
    if (!MayChain(state_.LoadCost(c)[kConstraintLevel] > kTolerance)) break;
    for (int i = 0; i < kEjections && state_.Overloaded(c) && !OutOfSteps(); ++i) {
      if (!RelieveByChains(c)) break;
      improved = true;
    }
  }
  return improved;
}

}  // namespace shardmanager::solver
