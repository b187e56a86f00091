// What single moves cannot repair: swaps and ejection chains. An object goes where it
// does not fit, and others leave there for it, as far as that makes the whole better.
#include <algorithm>
#include <map>

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

constexpr size_t kMostEmptied = 200;      // objects of a container that is emptied as a whole
constexpr size_t kTargetsOfEmptied = 64;  // tried for each of them

constexpr int kMostTrades = 32;  // tried for an object that is heavy

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

// Where a domain has not room for all groups that wish to be there, heavy ones take the places of
// light ones, which go elsewhere. (Chains begin where there is too much load.)
class Descent::Displacer {
 public:
  explicit Displacer(Descent& descent)
      : descent_(descent), state_(descent.state_), board_(descent.state_.group_board()) {}

  bool Run() {
    bool improved = false;
    for (size_t k = 0; k < board_.rules().size(); ++k) {
      if (!board_.rules()[k]->factor.empty()) improved |= RunRule(k);
    }
    return improved;
  }

 private:
  struct Place {
    double factor;  // of whoever has it; 0: it does not wish to be there
    ObjectId object;
  };

  bool RunRule(size_t k) {
    bool improved = false;
    std::map<uint32_t, std::vector<Place>> places;  // by domain
    for (const GroupId g : descent_.heavy_first_) {
      if (descent_.OutOfSteps() || !descent_.MayChain(false)) break;
      const DomainId wish = board_.Wish(k, g);
      if (!wish.valid() || board_.CostOf(k, g) <= kTolerance) continue;
      const auto [in, fresh] = places.try_emplace(wish.index());
      if (fresh) in->second = PlacesIn(k, wish);
      improved |= DisplaceFor(k, g, in->second);
    }
    return improved;
  }

  DomainId DomainOf(size_t rule, ObjectId o) const {
    return state_.model().DomainOf(board_.rules()[rule]->scope, state_.where(o));
  }

  // The lightest first.
  std::vector<Place> PlacesIn(size_t rule, DomainId domain) const {
    std::vector<Place> places;
    for (uint32_t i = 0; i < state_.problem().objects; ++i) {
      const ObjectId o(i);
      if (!state_.where(o).valid() || !state_.MayMove(o) || DomainOf(rule, o) != domain) continue;
      const GroupId g = board_.GroupOf(o);
      const bool wishes = board_.Wish(rule, g) == domain;
      places.push_back({wishes ? board_.rules()[rule]->Factor(g) : 0, o});
    }
    std::stable_sort(places.begin(), places.end(),
                     [](const Place& a, const Place& b) { return a.factor < b.factor; });
    return places;
  }

  bool DisplaceFor(size_t rule, GroupId g, std::vector<Place>& places) {
    const double factor = board_.rules()[rule]->Factor(g);
    for (ObjectId o = board_.Begin(g); o < board_.End(g); o = ObjectId(o.index() + 1)) {
      if (!state_.where(o).valid() || !state_.MayMove(o)) continue;
      if (DomainOf(rule, o) == board_.Wish(rule, g)) continue;
      for (size_t i = 0; i < std::min<size_t>(places.size(), kMostTrades); ++i) {
        if (places[i].factor >= factor) break;
        if (board_.GroupOf(places[i].object) == g || !Trade(o, places[i].object)) continue;
        places.erase(places.begin() + static_cast<ptrdiff_t>(i));
        return true;
      }
    }
    return false;
  }

  bool Trade(ObjectId comes, ObjectId makes_way) {
    const size_t mark = descent_.log_.size();
    Score change;
    descent_.Shift(comes, state_.where(makes_way), change);
    const ContainerId from = state_.Lift(makes_way);
    const Score here = state_.Arrival(makes_way, from);
    Score there = here;
    const ContainerId to = descent_.BestPlace(makes_way, from, there);
    state_.Put(makes_way, to, from);
    descent_.log_.push_back({makes_way, from});
    change += there - here;
    if (to != from && change.BetterThan(kNoChange)) {
      descent_.log_.resize(mark);
      return true;
    }
    descent_.RollBack(mark);
    return false;
  }

  Descent& descent_;
  State& state_;
  const GroupBoard& board_;
};

// Containers that cost something as long as anything stands there are emptied as a whole, those
// first where an object less saves most: the moves before the last one save nothing.
class Descent::Emptier {
 public:
  explicit Emptier(Descent& descent) : descent_(descent), state_(descent.state_) {}

  bool Run() {
    if (state_.custom().empty()) return false;
    std::vector<std::pair<double, ContainerId>> order;  // by objects for each unit that is saved
    for (uint32_t i = 0; i < state_.problem().containers; ++i) {
      const ContainerId c(i);
      const size_t objects = state_.On(c).size();
      if (objects > 0 && state_.problem().Open(c)) in_use_.push_back(c);
      const double saved = Saved(c);
      if (saved <= 0 || objects > kMostEmptied) continue;
      order.emplace_back(static_cast<double>(objects) / saved, c);
    }
    std::sort(order.begin(), order.end());
    bool improved = false;
    for (const auto& [rank, c] : order) {
      if (descent_.OutOfSteps() || !descent_.MayChain(false)) break;
      improved |= Empty(c);
    }
    return improved;
  }

 private:
  double Saved(ContainerId c) const {
    double saved = 0;
    for (const auto& rule : state_.custom()) saved += rule->SavedIfEmpty(c);
    return saved;
  }

  bool Empty(ContainerId c) {
    const size_t mark = descent_.log_.size();
    Score change;
    std::vector<ObjectId> objects(state_.On(c).begin(), state_.On(c).end());
    std::stable_sort(objects.begin(), objects.end(), [&](ObjectId a, ObjectId b) {
      return descent_.SizeOf(a) > descent_.SizeOf(b);
    });
    const bool all = std::all_of(objects.begin(), objects.end(),
                                 [&](ObjectId o) { return SendAway(o, c, change); });
    if (all && change.BetterThan(kNoChange)) {
      descent_.log_.resize(mark);
      return true;
    }
    descent_.RollBack(mark);
    return false;
  }

  // To the best of some containers in use, and the fullest of equal ones.
  bool SendAway(ObjectId o, ContainerId c, Score& change) {
    if (!state_.MayMove(o)) return false;
    const ContainerId from = state_.Lift(o);
    const Score here = state_.Arrival(o, from);
    Score best;
    double fullest = 0;
    ContainerId to;
    const size_t tried = std::min(in_use_.size(), kTargetsOfEmptied);
    for (size_t i = 0; i < tried; ++i) {
      const ContainerId place =
          in_use_[tried == in_use_.size() ? i : descent_.random_.Below(in_use_.size())];
      if (place == c) continue;
      const Score there = state_.Arrival(o, place);
      if (to.valid() && best.BetterThan(there)) continue;
      const double fill = state_.containers().Fill(DomainId(place.index()));
      if (to.valid() && fill <= fullest && !there.BetterThan(best)) continue;
      best = there;
      fullest = fill;
      to = place;
    }
    state_.Put(o, to.valid() ? to : from, from);
    if (!to.valid()) return false;
    descent_.log_.push_back({o, from});
    change += best - here;
    return true;
  }

  Descent& descent_;
  State& state_;
  std::vector<ContainerId> in_use_;
};

bool Descent::RepairByChains() {
  bool improved = Displacer(*this).Run();
  improved |= Emptier(*this).Run();
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
