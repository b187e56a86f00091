#include "router/server_health.h"

#include <algorithm>

namespace shardmanager::router {
namespace {

constexpr uint32_t kOne = 1u << 16;
constexpr uint32_t kTroubleAbove = kOne / 2;
constexpr uint32_t kTroubleUntil = kOne / 8;
// Each request counts for 1/8 of the average: six bad ones in a row are trouble.
constexpr uint32_t kWeight = 8;
constexpr Duration kBetweenProbes = Seconds(1);

// What many threads write costs each of them.
void Raise(std::atomic<bool>& flag) {
  if (!flag.load(std::memory_order_relaxed)) flag.store(true, std::memory_order_relaxed);
}

}  // namespace

void ServerHealth::OnEnd(Impression impression, Duration took, std::optional<Problem> problem) {
  in_flight_.fetch_sub(1, std::memory_order_relaxed);
  NoteLatency(impression, took);
  Note(impression, problem);
}

ServerHealth::Use ServerHealth::LookForUse(TimePoint now) {
  if (used_well_.exchange(false, std::memory_order_relaxed)) use_.well = now;
  if (used_badly_.exchange(false, std::memory_order_relaxed)) use_.badly = now;
  return use_;
}

void ServerHealth::Note(Impression impression, std::optional<Problem> problem) {
  const uint32_t share = bad_share_.load(std::memory_order_relaxed);
  switch (impression) {
    case Impression::kNone:
    case Impression::kSlow:
      return;
    case Impression::kBad:
      Raise(used_badly_);
      problem_.store(problem, std::memory_order_relaxed);
      bad_share_.store(share + (kOne - share) / kWeight, std::memory_order_relaxed);
      if (share + (kOne - share) / kWeight > kTroubleAbove) {
        in_trouble_.store(true, std::memory_order_relaxed);
      }
      return;
    case Impression::kGood: {
      Raise(used_well_);
      // Few requests come to a server in trouble, so each that goes well tells more.
      const uint32_t less = share - share / (in_trouble() ? 2 : kWeight);
      // What is left below is rounding.
      const uint32_t next = less < kWeight ? 0 : less;
      if (next != share) bad_share_.store(next, std::memory_order_relaxed);
      if (in_trouble() && next <= kTroubleUntil)
        in_trouble_.store(false, std::memory_order_relaxed);
      return;
    }
  }
}

// A server that has become faster is believed sooner than one that was slow once: where others are
// faster, it gets few requests to show it. To fail fast is not to be fast.
void ServerHealth::NoteLatency(Impression impression, Duration took) {
  const int64_t sample = std::max<int64_t>(took.count(), 1);
  const int64_t average = latency_us_.load(std::memory_order_relaxed);
  if (impression == Impression::kNone) return;
  if (impression != Impression::kGood && sample <= average) return;
  const int64_t next = average == 0       ? sample
                       : sample < average ? average - (average - sample + 1) / 2
                                          : average + (sample - average) / kWeight;
  latency_us_.store(next, std::memory_order_relaxed);
}

bool ServerHealth::TakeProbe(TimePoint now) {
  int64_t next = next_probe_us_.load(std::memory_order_relaxed);
  const int64_t now_us = now.time_since_epoch().count();
  if (now_us < next) return false;
  return next_probe_us_.compare_exchange_strong(next, now_us + kBetweenProbes.count(),
                                                std::memory_order_relaxed);
}

}  // namespace shardmanager::router
