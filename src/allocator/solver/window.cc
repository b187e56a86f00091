#include "allocator/solver/window.h"

#include <algorithm>

namespace shardmanager::solver {
namespace {

bool Sooner(const Score& a, const Score& b) { return a.BetterThan(b); }

}  // namespace

Window::Window(State& state) : state_(state) {
  for (const auto& rule : state.custom()) bounded_ &= rule->DearerWhenFuller();
}

void Window::Collect(std::span<const ObjectId> objects, std::span<const ContainerId> places) {
  seats_.clear();
  for (ObjectId o : objects) {
    const ContainerId at = state_.where(o);
    const ContainerId start = state_.problem().start[o];
    Seat seat{.object = o, .before = at, .now = at, .best = at, .places = {}, .cheapest_after = {}};
    seat.places.assign(places.begin(), places.end());
    seat.places.push_back(at);
    seat.places.push_back(start);
    std::sort(seat.places.begin(), seat.places.end());
    seat.places.erase(std::unique(seat.places.begin(), seat.places.end()), seat.places.end());
    // What has a place keeps one.
    std::erase_if(seat.places, [&](ContainerId c) {
      return c.valid() ? state_.ClosedTo(o, c) && c != at : start.valid();
    });
    seats_.push_back(std::move(seat));
  }
  // Large ones first: they decide most.
  const auto size = [&](ObjectId o) {
    Amount sum = 0;
    for (Load l : state_.problem().LoadOf(o)) sum += l;
    return sum;
  };
  std::stable_sort(seats_.begin(), seats_.end(),
                   [&](const Seat& a, const Seat& b) { return size(a.object) > size(b.object); });
}

Score Window::PriceAndLift() {
  for (const Seat& seat : seats_) state_.Lift(seat.object);
  Score price;
  for (const Seat& seat : seats_) {
    price += state_.Arrival(seat.object, seat.before);
    state_.Put(seat.object, seat.before, seat.before);
  }
  for (const Seat& seat : seats_) state_.Lift(seat.object);
  return price;
}

// With all others lifted an object is as cheap as it ever will be.
void Window::BoundFromBelow() {
  Score sum;
  for (size_t i = seats_.size(); i-- > 0;) {
    seats_[i].cheapest_after = sum;
    const std::vector<Offer> offers = Offers(seats_[i]);
    if (!offers.empty()) sum += offers.front().score;
  }
}

std::vector<Window::Offer> Window::Offers(const Seat& seat) {
  std::vector<Offer> offers;
  for (ContainerId c : seat.places) offers.push_back({state_.Arrival(seat.object, c), c});
  std::stable_sort(offers.begin(), offers.end(),
                   [](const Offer& a, const Offer& b) { return Sooner(a.score, b.score); });
  return offers;
}

void Window::Put(Seat& seat, ContainerId place) {
  state_.Put(seat.object, place, seat.now);
  seat.now = place;
}

void Window::Try(size_t i, const Score& so_far) {
  if (i == seats_.size()) {
    if (!so_far.BetterThan(best_)) return;
    best_ = so_far;
    improved_ = true;
    for (Seat& seat : seats_) seat.best = seat.now;
    return;
  }
  Seat& seat = seats_[i];
  for (const Offer& offer : Offers(seat)) {
    const Score price = so_far + offer.score;
    // The offers that follow cost more still.
    if (bounded_ && !(price + seat.cheapest_after).BetterThan(best_)) return;
    if (state_.steps() >= end_ || patience_->Over(state_.steps())) return;
    Put(seat, offer.place);
    Try(i + 1, price);
    state_.Lift(seat.object);
  }
}

bool Window::Improve(std::span<const ObjectId> objects, std::span<const ContainerId> places,
                     uint64_t most_steps, const Patience& patience) {
  patience_ = &patience;
  end_ = state_.steps() + most_steps;
  improved_ = false;
  Collect(objects, places);
  best_ = PriceAndLift();
  BoundFromBelow();
  Try(0, Score{});
  for (Seat& seat : seats_) Put(seat, seat.best);
  return improved_;
}

}  // namespace shardmanager::solver
