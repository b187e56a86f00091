#include "allocator/solver/polish.h"

#include <algorithm>

namespace shardmanager::solver {
namespace {

// Up to this size everything goes into one window.
constexpr uint32_t kTinyObjects = 12;
constexpr uint32_t kTinyContainers = 8;

constexpr uint64_t kStepsIfTiny = 400'000;

// Up to this size moves are made fewer.
constexpr uint32_t kSmallObjects = 5'000;
constexpr uint64_t kStepsIfSmall = 1'000'000;
constexpr size_t kMovedOfHome = 4;      // objects that left one container
constexpr size_t kResidentsOfHome = 4;  // and others that might have left instead
constexpr size_t kPlacesForMoved = 6;
constexpr int kTriesOfHome = 4;

// Of all windows of one search: so many, and a part of the steps that the rest took.
constexpr uint64_t kLeastSteps = 40'000;
constexpr uint64_t kPartOfSteps = 10;
constexpr uint64_t kStepsOfWindow = 4'000;  // unless the problem is tiny
constexpr uint32_t kGroupOfWindow = 6;      // objects; larger groups are left alone
constexpr size_t kObjectsOfContainer = 4;   // that may be traded away
constexpr size_t kObjectsOfPartner = 3;     // and for those, of each
constexpr int kTradesOfContainer = 8;       // tried for a container, with other partners

}  // namespace

Polish::Polish(State& state, uint64_t seed)
    : state_(state), window_(state), random_(seed ^ 0x9015) {
  for (uint32_t i = 0; i < state.problem().containers; ++i) {
    const ContainerId c(i);
    if (state.problem().Open(c)) open_.push_back(c);
  }
}

bool Polish::Run(uint64_t most_steps, const Patience& patience) {
  patience_ = &patience;
  const uint64_t begin = state_.steps();
  const uint64_t allowed = Tiny()    ? kStepsIfTiny
                           : Small() ? kStepsIfSmall
                                     : kLeastSteps + (begin - spent_) / kPartOfSteps;
  end_ = begin + std::min(most_steps, allowed - std::min(spent_, allowed));
  bool improved = false;
  if (Tiny()) {
    improved = TryAll();
  } else {
    improved = TryGroups();
    improved |= TryContainers();
    if (!improved && Small()) improved = TryMoves();
  }
  spent_ += state_.steps() - begin;
  return improved;
}

bool Polish::Tiny() const {
  return state_.problem().objects <= kTinyObjects && state_.problem().containers <= kTinyContainers;
}

bool Polish::Small() const { return state_.problem().objects <= kSmallObjects; }

bool Polish::Improve(uint64_t most_steps) {
  if (objects_.empty()) return false;
  return window_.Improve(objects_, places_, std::min(most_steps, StepsLeft()), *patience_);
}

bool Polish::TryAll() {
  objects_.clear();
  places_ = open_;
  for (uint32_t i = 0; i < state_.problem().objects; ++i) {
    if (state_.MayMove(ObjectId(i))) objects_.push_back(ObjectId(i));
  }
  return Improve(kStepsIfTiny);
}

// The objects of a group trade places among themselves and with where they started.
bool Polish::TryGroups() {
  const GroupBoard& board = state_.group_board();
  bool improved = false;
  for (uint32_t i = 0; i < state_.problem().groups() && StepsLeft() > 0; ++i) {
    const GroupId g(i);
    if (board.End(g).index() - board.Begin(g).index() > kGroupOfWindow) continue;
    bool pays = board.Pays(g);
    if (!pays && state_.model().object_rules().empty()) continue;
    objects_.clear();
    places_.clear();
    for (ObjectId o = board.Begin(g); o < board.End(g); o = ObjectId(o.index() + 1)) {
      const ContainerId at = state_.where(o);
      if (!at.valid() || !state_.MayMove(o)) continue;
      objects_.push_back(o);
      places_.push_back(at);
      for (const ObjectRule& rule : state_.model().object_rules()) {
        pays |= state_.ObjectRuleCost(rule, o, at) > 0;
      }
    }
    if (pays && objects_.size() > 1) improved |= Improve(kStepsOfWindow);
  }
  return improved;
}

bool Polish::TryContainers() {
  if (open_.size() < 2) return false;
  bool improved = false;
  for (uint32_t i = 0; i < state_.problem().containers; ++i) {
    const ContainerId c(i);
    for (int trade = 0; trade < kTradesOfContainer; ++trade) {
      if (state_.On(c).empty() || !kNoChange.BetterThan(state_.LoadCost(c))) break;
      if (StepsLeft() == 0) return improved;
      const ContainerId others[] = {open_[random_.Below(open_.size())],
                                    open_[random_.Below(open_.size())]};
      improved |= TryTrade(c, others);
    }
  }
  return improved;
}

bool Polish::TryTrade(ContainerId hot, std::span<const ContainerId> others) {
  objects_.clear();
  places_ = {hot};
  AddSome(hot, kObjectsOfContainer);
  for (ContainerId c : others) {
    if (std::find(places_.begin(), places_.end(), c) != places_.end()) continue;
    places_.push_back(c);
    AddSome(c, kObjectsOfPartner);
  }
  return Improve(kStepsOfWindow);
}

bool Polish::TryMoves() {
  if (open_.empty()) return false;
  std::vector<std::vector<ObjectId>> moved(state_.problem().containers);
  for (uint32_t i = 0; i < state_.problem().objects; ++i) {
    const ContainerId start = state_.problem().start[ObjectId(i)];
    const bool away =
        start.valid() && state_.where(ObjectId(i)).valid() && state_.Moved(ObjectId(i));
    if (away) moved[start.index()].push_back(ObjectId(i));
  }
  bool improved = false;
  for (uint32_t home = 0; home < moved.size(); ++home) {
    for (int i = 0; i < kTriesOfHome && !moved[home].empty(); ++i) {
      if (StepsLeft() == 0) return improved;
      const auto begin = moved[home].begin();
      const size_t n = std::min(moved[home].size(), kMovedOfHome);
      objects_.assign(begin, begin + static_cast<ptrdiff_t>(n));
      AddResidents(ContainerId(home), kResidentsOfHome);
      places_.clear();
      for (ObjectId o : objects_) places_.push_back(state_.where(o));
      for (size_t k = 0; k < kPlacesForMoved; ++k) {
        places_.push_back(open_[random_.Below(open_.size())]);
      }
      improved |= Improve(kStepsOfWindow);
    }
  }
  return improved;
}

void Polish::AddResidents(ContainerId home, size_t n) {
  const auto on = state_.On(home);
  for (size_t i = 0; i < n && !on.empty(); ++i) {
    const ObjectId o = on[random_.Below(on.size())];
    if (!state_.MayMove(o) || state_.Moved(o)) continue;
    if (std::find(objects_.begin(), objects_.end(), o) == objects_.end()) objects_.push_back(o);
  }
}

// Some of what stands on `c`, by chance: large and small ones both have their use.
void Polish::AddSome(ContainerId c, size_t n) {
  const auto on = state_.On(c);
  for (size_t i = 0; i < n && !on.empty(); ++i) {
    const ObjectId o = on[random_.Below(on.size())];
    if (!state_.MayMove(o)) continue;
    if (std::find(objects_.begin(), objects_.end(), o) == objects_.end()) objects_.push_back(o);
  }
}

}  // namespace shardmanager::solver
