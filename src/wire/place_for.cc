#include "wire/place_for.h"

#include <algorithm>

namespace shardmanager::wire {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr uint64_t kDescentStepsPerMs = 500;
constexpr uint64_t kFirstSlice = 4096;
constexpr uint64_t kMostSlice = uint64_t{1} << 20;
constexpr milliseconds kSlice{20};

}  // namespace

placer::PlacerOptions OptionsFor(milliseconds time, uint64_t seed) {
  const auto ms = static_cast<uint64_t>(std::max<int64_t>(1, time.count()));
  return {.seed = seed == 0 ? 1 : seed, .step_budget = ms * kDescentStepsPerMs};
}

void AnnealFor(steady_clock::time_point start, milliseconds time,
               const std::function<bool(double part)>& go_on,
               const std::function<void(uint64_t, double, double)>& slice) {
  const auto part_at = [&](steady_clock::time_point now) {
    const std::chrono::duration<double> gone = now - start;
    return std::min(1.0, gone / std::chrono::duration<double>(time));
  };
  uint64_t steps = kFirstSlice;
  // Of the last slice, as a part of the time; at first a guess: a step takes about a microsecond.
  double length =
      std::min(1.0, 1e-3 * kFirstSlice / static_cast<double>(std::max<int64_t>(1, time.count())));
  steady_clock::time_point now = steady_clock::now();
  while (now - start < time && go_on(part_at(now))) {
    slice(steps, part_at(now), std::min(1.0, part_at(now) + length));
    const steady_clock::time_point end = steady_clock::now();
    if (end - now < kSlice / 2 && steps < kMostSlice) steps *= 2;
    if (end - now > kSlice * 2 && steps > 1) steps /= 2;
    length = part_at(end) - part_at(now);
    now = end;
  }
}

void PlaceFor(placer::Placer& placer, milliseconds time,
              const std::function<bool(double part)>& go_on) {
  const steady_clock::time_point start = steady_clock::now();
  if (!go_on(0)) return;
  placer.Descend();
  if (placer.Perfect()) return;
  // The annealing has a whole course of temperatures in what is left.
  const auto left = time - std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
  if (left <= milliseconds(0)) return;
  AnnealFor(steady_clock::now(), left, go_on, [&](uint64_t steps, double progress, double after) {
    placer.Anneal(steps, progress, after);
  });
}

}  // namespace shardmanager::wire
