#include "allocator/solver/descent.h"

#include <algorithm>
#include <tuple>

namespace shardmanager::solver {
namespace {

constexpr uint32_t kMostInVain = 64;   // containers in a row that no object can leave
constexpr uint32_t kTriedOfFull = 16;  // one of so many is tried after that

constexpr uint32_t kLargeGroup = 100;  // objects

// Of looks at all places: so many steps, and a part of those before.
constexpr uint64_t kStepsOfScans = 40'000;
constexpr uint64_t kPartOfScans = 10;

bool NothingToPay(const Score& score) {
  for (int l = 0; l < kMovementLevel; ++l) {
    if (score[l] > kTolerance) return false;
  }
  return true;
}

}  // namespace

double Descent::SizeOf(ObjectId o) const {
  double size = 0;
  const auto load = state_.problem().LoadOf(o);
  for (size_t m = 0; m < load.size(); ++m) size += load[m] * size_unit_[m];
  return size;
}

Descent::Descent(State& state, const SearchOptions& options)
    : state_(state),
      options_(options),
      targets_(state, options.grouped_targets, options.seed),
      random_(options.seed ^ 0x5eed),
      polish_(state, options.seed) {
  const Model& model = state.model();
  for (size_t m = 0; m < state.problem().metrics.size(); ++m) {
    const Amount total = std::max<Amount>(model.TotalLoad(MetricId(m)), 1);
    size_unit_.push_back(1 / static_cast<double>(total));
  }
  const GroupBoard& board = state.group_board();
  if (!board.weighed()) return;
  for (uint32_t g = 0; g < state.problem().groups(); ++g) heavy_first_.push_back(GroupId(g));
  std::stable_sort(heavy_first_.begin(), heavy_first_.end(),
                   [&](GroupId a, GroupId b) { return board.FactorOf(a) > board.FactorOf(b); });
}

bool Descent::Run(const Patience& patience) {
  patience_ = &patience;
  bool improved = true;
  while (improved && !OutOfSteps()) {
    improved = PlaceMissing();
    if (options_.emergency) break;
    improved |= RepairGroups(Reach::kSample);
    improved |= RepairObjects();
    improved |= RepairLoads();
    improved |= RepairCustom();
    if (!improved) improved = RepairGroups(Reach::kAll);
    if (!improved) improved = RepairByChains();
    if (!improved) improved = BringHome();
    if (!improved) improved = PolishWindows();
  }
  return !OutOfSteps();
}

ContainerId Descent::BestPlace(ObjectId o, ContainerId from, Score& best, Reach reach) {
  ContainerId place = from;
  // (A server like the last one may be open to the object though that one is not: where all places
  // are to be looked at, none is passed over.)
  const bool pass_over = options_.equivalence && reach == Reach::kSample;
  const auto look = [&] {
    ContainerId last;
    for (const TargetIndex::Target& target : places_) {
      if (pass_over && last.valid() && state_.Alike(target.container, last)) continue;
      last = target.container;
      const Score score = state_.Arrival(o, target.container, target.fits);
      if (!score.BetterThan(best)) continue;
      best = score;
      place = target.container;
    }
  };
  if (reach == Reach::kAll) {
    targets_.All(from, places_);
    look();
    return place;
  }
  targets_.SampleOne(o, from, places_);
  look();
  // Nothing to be wished for but not to have moved: as good as it gets.
  if (place != from && NothingToPay(best)) return place;
  targets_.Sample(o, from, places_);
  look();
  return place;
}

bool Descent::TryMove(ObjectId o) {
  if (!state_.MayMove(o)) return false;
  const ContainerId from = state_.Lift(o);
  Score best = state_.Arrival(o, from);
  const ContainerId to = BestPlace(o, from, best);
  state_.Put(o, to, from);
  return to != from;
}

// Large ones first: what is small fits in the gaps that they leave. (But those whose wishes weigh
// more go before all others.)
bool Descent::PlaceMissing() {
  const GroupBoard& board = state_.group_board();
  std::vector<std::tuple<double, double, ObjectId>> missing;
  for (uint32_t i = 0; i < state_.problem().objects; ++i) {
    const ObjectId o(i);
    if (state_.where(o).valid() || !state_.MayMove(o)) continue;
    const double factor = board.weighed() ? board.FactorOf(board.GroupOf(o)) : 0;
    missing.emplace_back(-factor, -SizeOf(o), o);
  }
  if (options_.large_first) std::sort(missing.begin(), missing.end());
  bool improved = false;
  for (const auto& [factor, size, o] : missing) {
    if (OutOfSteps()) break;
    improved |= TryMove(o) || PlaceByScan(o) || PlaceByChain(o);
  }
  return improved;
}

// Samples may miss the last place that is left. Where nothing has room, not everyone
// needs to look everywhere to know it.
bool Descent::PlaceByScan(ObjectId o) {
  if (futile_scans_ >= kMostFutileScans) return false;
  Score best = state_.Arrival(o, ContainerId());
  const ContainerId place = BestPlace(o, ContainerId(), best, Reach::kAll);
  futile_scans_ = place.valid() ? 0 : futile_scans_ + 1;
  if (place.valid()) state_.Put(o, place, ContainerId());
  return place.valid();
}

// Samples may miss the only places that the rules of a group ask for: at the end, those that still
// cost something look at all of them. Not for long where there are many, as there may be no such
// place.
bool Descent::RepairGroups(Reach reach) {
  if (state_.group_board().empty()) return false;
  const bool all = reach == Reach::kAll;
  const uint32_t groups = state_.problem().groups();
  const auto first = all ? static_cast<uint32_t>(random_.Below(groups)) : 0;
  const uint64_t end =
      all ? state_.steps() + kStepsOfScans + state_.steps() / kPartOfScans : UINT64_MAX;
  bool improved = false;
  for (uint32_t i = 0; i < groups && state_.steps() < end && !OutOfSteps(); ++i) {
    const uint32_t next = (first + i) % groups;
    const GroupId g = all || heavy_first_.empty() ? GroupId(next) : heavy_first_[next];
    if (state_.group_board().Pays(g)) improved |= ImproveGroup(g, reach);
  }
  return improved;
}

// Moves, one after another, the object of the group that gains most by it; in a large group, where
// it would take too long to look for that one, each that gains.
bool Descent::ImproveGroup(GroupId g, Reach reach) {
  const GroupBoard& board = state_.group_board();
  // The best move of the object; none that improves anything: an invalid object. `wishes`: who
  // stands well need not go, unless one is missing elsewhere.
  const auto best_of = [&](ObjectId o, bool wishes) -> Candidate {
    if (!state_.MayMove(o) || !state_.where(o).valid()) return {};
    const ContainerId from = state_.Lift(o);
    const Score here = state_.Arrival(o, from);
    Score there = here;
    const bool worth_it = wishes || board.Pays(o, from);
    const ContainerId to = worth_it ? BestPlace(o, from, there, reach) : from;
    state_.Put(o, from, from);
    const Score change = there - here;
    return to != from && change.BetterThan(kNoChange) ? Candidate{o, to, change} : Candidate{};
  };
  const uint32_t begin = board.Begin(g).index();
  const uint32_t end = board.End(g).index();
  bool improved = false;
  if (end - begin > kLargeGroup) {
    const bool wishes = board.Lacks(g);
    for (uint32_t o = begin; o < end && !OutOfSteps(); ++o) {
      const Candidate best = best_of(ObjectId(o), wishes);
      if (OutOfSteps()) break;
      if (!best.object.valid()) continue;
      state_.Move(best.object, best.to);
      improved = true;
    }
    return improved;
  }
  for (uint32_t round = begin; round < end && !OutOfSteps(); ++round) {
    Candidate best{};
    const bool wishes = board.Lacks(g);
    for (uint32_t o = begin; o < end; ++o) {
      const Candidate one = best_of(ObjectId(o), wishes);
      if (one.object.valid() && one.change.BetterThan(best.change)) best = one;
    }
    if (!best.object.valid()) break;
    state_.Move(best.object, best.to);
    improved = true;
    if (!board.Pays(g)) break;
  }
  return improved;
}

bool Descent::RepairObjects() {
  bool improved = false;
  for (const ObjectRule& rule : state_.model().object_rules()) {
    std::vector<uint32_t> objects;
    for (const auto& entry : rule.domains) objects.push_back(entry.first);
    std::sort(objects.begin(), objects.end());
    for (uint32_t i : objects) {
      const ObjectId o(i);
      if (!state_.where(o).valid() || state_.ObjectRuleCost(rule, o, state_.where(o)) <= 0)
        continue;
      improved |= TryMove(o);
    }
  }
  return improved;
}

std::vector<int> Descent::LoadLevels() const {
  std::vector<int> levels;
  for (const LoadRule& rule : state_.model().load_rules()) levels.push_back(rule.level);
  for (const ContainerRule& rule : state_.model().container_rules()) levels.push_back(rule.level);
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  if (!options_.batches && !levels.empty()) levels = {levels.back()};
  return levels;
}

// Containers with something to pay at `level` or above, the worst first.
std::vector<ContainerId> Descent::HotContainers(int level) const {
  std::vector<std::pair<Score, ContainerId>> hot;
  for (uint32_t i = 0; i < state_.problem().containers; ++i) {
    const ContainerId c(i);
    if (state_.On(c).empty()) continue;
    Score cost = state_.LoadCost(c);
    for (const ContainerRule& rule : state_.model().container_rules()) {
      cost[rule.level] += rule.cost[c] * static_cast<double>(state_.On(c).size());
    }
    for (int l = level + 1; l < kLevels; ++l) cost[l] = 0;
    if (kNoChange.BetterThan(cost)) hot.emplace_back(cost, c);
  }
  std::stable_sort(hot.begin(), hot.end(),
                   [](const auto& a, const auto& b) { return b.first.BetterThan(a.first); });
  std::vector<ContainerId> result;
  result.reserve(hot.size());
  for (const auto& entry : hot) result.push_back(entry.second);
  return result;
}

// Where one container after another finds no place for what it holds, the fleet is full:
// only some of those that follow are tried, until one of them succeeds.
bool Descent::RepairLoads() {
  bool improved = false;
  for (int level : LoadLevels()) {
    uint32_t in_vain = 0;
    for (ContainerId c : HotContainers(level)) {
      if (OutOfSteps()) return improved;
      const bool skip = in_vain > kMostInVain && in_vain % kTriedOfFull != 0;
      const bool relieved = !skip && Relieve(c);
      in_vain = relieved ? 0 : in_vain + 1;
      improved |= relieved;
    }
  }
  return improved;
}

bool Descent::RepairCustom() {
  bool improved = false;
  std::vector<ObjectId> payers;
  for (const auto& rule : state_.custom()) {
    payers.clear();
    rule->AddPayers(payers);
    for (ObjectId o : payers) improved |= !OutOfSteps() && TryMove(o);
  }
  return improved;
}

bool Descent::PolishWindows() {
  if (OutOfSteps()) return false;
  return polish_.Run(options_.step_budget - state_.steps(), *patience_);
}

// Objects that moved and need not have: home again if nothing else gets worse.
bool Descent::BringHome() {
  bool improved = false;
  for (uint32_t i = 0; i < state_.problem().objects && !OutOfSteps(); ++i) {
    const ObjectId o(i);
    const ContainerId home = state_.problem().start[o];
    if (!state_.Moved(o) || !home.valid() || !state_.where(o).valid()) continue;
    const ContainerId from = state_.Lift(o);
    const bool better = state_.Arrival(o, home).BetterThan(state_.Arrival(o, from));
    state_.Put(o, better ? home : from, from);
    improved |= better;
  }
  return improved;
}

}  // namespace shardmanager::solver
