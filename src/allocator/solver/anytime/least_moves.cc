#include "allocator/solver/anytime/least_moves.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace shardmanager::solver {
namespace {

// How many of `loads` are more than `excess` together, at least; all if that is not enough.
size_t Fewest(std::vector<Load>& loads, Amount excess) {
  std::sort(loads.begin(), loads.end(), std::greater<>());
  size_t count = 0;
  for (; count < loads.size() && excess > 0; ++count) excess -= loads[count];
  return count;
}

class Bound {
 public:
  explicit Bound(const State& state) : state_(state) {}

  double Of(ContainerId c) {
    movable_.clear();
    for (ObjectId o : state_.On(c)) {
      if (state_.MayMove(o)) movable_.push_back(o);
    }
    size_t count = Avoided(c) ? movable_.size() : 0;
    const auto& dimensions = state_.model().dimensions();
    for (uint32_t d = 0; d < dimensions.size(); ++d) {
      // What left still counts there in a sticky dimension.
      const Amount excess = state_.containers().Excess(DomainId(c.index()), d);
      if (excess <= 0 || dimensions[d].sticky) continue;
      loads_.clear();
      for (ObjectId o : movable_) loads_.push_back(LoadOf(o, dimensions[d].metric));
      count = std::max(count, Fewest(loads_, excess));
    }
    return CheapestMoves(count);
  }

 private:
  bool Avoided(ContainerId c) const {
    const auto& rules = state_.model().container_rules();
    return std::any_of(rules.begin(), rules.end(),
                       [&](const ContainerRule& rule) { return rule.cost[c] > 0; });
  }
  Load LoadOf(ObjectId o, MetricId m) const { return state_.problem().LoadOf(o)[m.index()]; }

  double CheapestMoves(size_t count) {
    if (count == 0) return 0;
    const MovementRule& rule = state_.model().movement();
    costs_.clear();
    for (ObjectId o : movable_) {
      double cost = rule.rank.weight * (rule.cost.empty() ? 1 : rule.cost[o]);
      // Where others of the group start, each of them makes it cheaper.
      const GroupId g = state_.group_board().GroupOf(o);
      const uint32_t others =
          state_.group_board().End(g).index() - state_.group_board().Begin(g).index() - 1;
      for (uint32_t i = 0; i < others && cost > 0; ++i) cost *= std::min(1.0, rule.within_group);
      costs_.push_back(cost);
    }
    std::sort(costs_.begin(), costs_.end());
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += costs_[i];
    return sum;
  }

  const State& state_;
  std::vector<ObjectId> movable_;
  std::vector<Load> loads_;
  std::vector<double> costs_;
};

}  // namespace

double LeastMovement(const State& state) {
  if (state.model().movement().rank.level != kMovementLevel) return 0;
  Bound bound(state);
  double sum = 0;
  for (uint32_t c = 0; c < state.problem().containers; ++c) sum += bound.Of(ContainerId(c));
  return sum;
}

}  // namespace shardmanager::solver
