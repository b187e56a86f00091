#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "geo/regions.h"
#include "geo/scenarios.h"
#include "runtime/clock.h"

namespace shardmanager {
namespace {

using local::MapView;

constexpr char kLost[] = "east";
constexpr char kNext[] = "central";
constexpr double kRate = 150;  // calls a second, of each caller
constexpr int kNear = 0;       // the group of shards that prefer kLost
constexpr int kOthers = 1;

bool PrefersLost(const GeoFlags& flags, int shard) { return shard < flags.shards * 4 / 10; }

v1::AppSpec Spec(const GeoFlags& flags) {
  v1::AppSpec spec = SpecOfTwoRegionsEach(flags.shards);
  for (int shard = 0; PrefersLost(flags, shard); ++shard) {
    spec.mutable_key_space()->mutable_shards(shard)->set_preferred_region(kLost);
  }
  return spec;
}

class RegionLoss {
 public:
  RegionLoss(const GeoFlags& flags, Figures& figures)
      : flags_(flags),
        figures_(figures),
        regions_({.folder = flags.folder,
                  .regions = {kLost, kNext, "west"},
                  .servers_each = flags.servers}) {}

  absl::Status Run() { return regions_.Explained(Measure()); }

 private:
  absl::Status Measure() {
    if (absl::Status s = regions_.SetUp(Spec(flags_)); !s.ok()) return s;
    const auto home = [this](const MapView& view) {
      return HasTwoRegionsEach(view) && IsHome(view);
    };
    if (auto s = regions_.Await("all is home", home, MonotonicNow()); !s.ok()) return s.status();
    if (absl::Status s = StartCallers(); !s.ok()) return s;
    std::this_thread::sleep_for(std::chrono::seconds(20));

    lost_at_ = regions_.SecondsNow();
    TimePoint begin = MonotonicNow();
    regions_.KillServers(kLost);
    const auto left = [](const MapView& view) { return HasLeft(view, kLost); };
    auto settle = regions_.Await("two regions again", left, begin);
    if (!settle.ok()) return settle.status();
    figures_.push_back(absl::StrFormat("FIGURE region_loss_settle_s %.1f s", *settle));
    std::this_thread::sleep_for(std::chrono::seconds(20));

    back_at_ = regions_.SecondsNow();
    begin = MonotonicNow();
    if (absl::Status s = regions_.StartServers(kLost); !s.ok()) return s;
    settle = regions_.Await("all is home again", home, begin);
    if (!settle.ok()) return settle.status();
    figures_.push_back(absl::StrFormat("FIGURE region_return_settle_s %.1f s", *settle));
    std::this_thread::sleep_for(std::chrono::seconds(20));
    return Report();
  }

  // Each shard that prefers the region is there.
  bool IsHome(const MapView& view) const {
    size_t there = 0, wanted = 0;
    for (int i = 0; i < flags_.shards; ++i) wanted += PrefersLost(flags_, i);
    for (const MapView::Shard& shard : view.shards) {
      const bool prefers = shard.id < ShardName(static_cast<int>(wanted));
      there += prefers && IsIn(view, shard, kLost);
    }
    return there == wanted;
  }

  absl::Status StartCallers() {
    std::string near, others;
    for (int shard = 0; shard < flags_.shards; ++shard) {
      if (PrefersLost(flags_, shard)) {
        absl::StrAppend(&near, ShardName(shard), " ", kNear, "\n");
      } else {
        absl::StrAppend(&others, ShardName(shard), " ", kOthers, "\n");
      }
    }
    regions_.SetCalls(kLost, near);
    regions_.SetCalls(kNext, others);
    if (absl::Status s = regions_.StartCaller(kLost, kRate, /*reads=*/true); !s.ok()) return s;
    return regions_.StartCaller(kNext, kRate, /*reads=*/true);
  }

  absl::Status Report() {
    const double end = regions_.SecondsNow();
    CallerLog log;
    if (absl::Status s = regions_.StopCallers(log); !s.ok()) return s;
    std::ofstream samples(flags_.folder + "/region-loss.txt");
    samples << absl::StrFormat("# the region was lost at %.1f s and came back at %.1f s\n",
                               lost_at_, back_at_)
            << "# second; ms on average and at most: from the region, from the next one\n";
    CallerSecond before, away, after;
    for (auto& [second, groups] : log.seconds) {
      if (second + 1 > end) break;  // a part of one
      const CallerSecond& near = groups[kNear];
      const CallerSecond& others = groups[kOthers];
      samples << absl::StrFormat("%d %.2f %.1f %.2f %.1f\n", second, near.mean_ms(), near.max_ms,
                                 others.mean_ms(), others.max_ms);
      if (second > 2 && second + 1 < lost_at_) before.Add(near);
      if (second > lost_at_ + 6 && second < back_at_) away.Add(near);
      if (second > end - 11) after.Add(near);
    }
    const CallerSecond all_near = log.Total(kNear), all_others = log.Total(kOthers);
    std::printf("%u calls, %u of them tried again\n",
                static_cast<unsigned>(all_near.calls + all_others.calls),
                static_cast<unsigned>(log.retried));
    figures_.push_back(absl::StrFormat("FIGURE region_loss_failed_calls %d calls",
                                       all_near.failed + all_others.failed));
    figures_.push_back(absl::StrFormat("FIGURE region_loss_slowest_ms %.0f ms",
                                       std::max(all_near.max_ms, all_others.max_ms)));
    figures_.push_back(
        absl::StrFormat("FIGURE region_latency_ms_before %.1f ms", before.mean_ms()));
    figures_.push_back(absl::StrFormat("FIGURE region_latency_ms_away %.1f ms", away.mean_ms()));
    figures_.push_back(absl::StrFormat("FIGURE region_latency_ms_after %.1f ms", after.mean_ms()));
    return absl::OkStatus();
  }

  const GeoFlags& flags_;
  Figures& figures_;
  Regions regions_;
  double lost_at_ = 0;  // seconds since the callers began
  double back_at_ = 0;
};

}  // namespace

absl::Status RunRegionLoss(const GeoFlags& flags, Figures& figures) {
  return RegionLoss(flags, figures).Run();
}

}  // namespace shardmanager
