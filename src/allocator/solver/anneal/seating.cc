#include "allocator/solver/anneal/seating.h"

#include <algorithm>
#include <vector>

namespace shardmanager::solver {
namespace {

constexpr uint32_t kMostLooks = 256;  // at objects without a place

// What all containers have left under their limits together, less what some are above them.
class RoomInSum {
 public:
  explicit RoomInSum(const State& state) {
    for (const LoadRule& rule : state.model().load_rules()) {
      if (rule.level != kConstraintLevel || rule.scope != kContainerScope) continue;
      Row row{.metric = state.model().dimensions()[rule.dimension].metric, .left = 0};
      for (uint32_t c = 0; c < state.problem().containers; ++c) {
        const Amount left =
            rule.limit[DomainId(c)] - state.containers().usage(DomainId(c), rule.dimension);
        if (left < 0 || state.problem().Open(ContainerId(c))) row.left += left;
        row.left = std::min(row.left, kUnlimited);
      }
      rows_.push_back(row);
    }
  }

  bool enough() const {
    return std::all_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.left >= 0; });
  }
  bool Fits(std::span<const Load> load) const {
    return std::all_of(rows_.begin(), rows_.end(),
                       [&](const Row& row) { return load[row.metric.index()] <= row.left; });
  }
  void Take(std::span<const Load> load) {
    for (Row& row : rows_) row.left -= load[row.metric.index()];
  }

 private:
  struct Row {
    MetricId metric;
    Amount left;
  };
  std::vector<Row> rows_;
};

struct Seat {
  ContainerId place;  // invalid: none
  bool breaks = false;
};

// Where it breaks least, of the places where it breaks nothing but limits of load.
Seat LeastBroken(State& state, ObjectId o) {
  Seat seat;
  Score best;
  for (uint32_t i = 0; i < state.problem().containers; ++i) {
    const ContainerId c(i);
    if (state.Arrival(o, c, /*fits=*/true)[kConstraintLevel] > kTolerance) continue;
    const Score score = state.Arrival(o, c);
    if (seat.place.valid() && !score.BetterThan(best)) continue;
    best = score;
    seat.place = c;
  }
  seat.breaks = best[kConstraintLevel] > kTolerance;
  return seat;
}

// Calls `visit(object, seat)` for objects that can be seated, until it returns false.
template <typename Visit>
void ForEachSeat(State& state, RoomInSum& room, Visit visit) {
  uint32_t looks = 0;
  for (uint32_t i = 0; i < state.problem().objects && looks < kMostLooks; ++i) {
    const ObjectId o(i);
    if (state.where(o).valid() || !state.MayMove(o)) continue;
    ++looks;
    const auto load = state.problem().LoadOf(o);
    if (!room.Fits(load)) continue;
    const Seat seat = LeastBroken(state, o);
    if (!seat.place.valid()) continue;
    room.Take(load);
    if (!visit(o, seat)) return;
  }
}

}  // namespace

bool CanRepair(State& state) {
  RoomInSum room(state);
  if (!room.enough()) return false;
  if (state.Total()[kConstraintLevel] > kTolerance) return true;
  bool any = false;
  ForEachSeat(state, room, [&](ObjectId, const Seat& seat) { return !(any |= seat.breaks); });
  return any;
}

uint32_t SeatUnplaced(State& state, uint32_t most) {
  RoomInSum room(state);
  uint32_t seated = 0;
  if (most == 0) return seated;
  ForEachSeat(state, room, [&](ObjectId o, const Seat& seat) {
    state.Move(o, seat.place);
    return ++seated < most;
  });
  return seated;
}

}  // namespace shardmanager::solver
