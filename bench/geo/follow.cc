#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
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

constexpr int kBatches = 2;
constexpr std::chrono::seconds kCalm{20};
constexpr std::chrono::seconds kUntilTheOrder{10};

const std::vector<std::string>& RegionNames() {
  static const std::vector<std::string> kNames = {"east", "central", "mountain", "west"};
  return kNames;
}

// 1 and 2: a batch; 0: its partner stays.
int BatchOf(int shard) {
  const int quarter = shard / 4 % 4;
  return quarter < kBatches ? quarter + 1 : 0;
}

// Where its partner is once so many batches have moved. The first goes one region on, the second
// two.
const std::string& PartnerOf(int shard, int batches) {
  const int batch = BatchOf(shard);
  const int moved = batch > 0 && batch <= batches ? batch : 0;
  return RegionNames()[static_cast<size_t>((shard + moved) % 4)];
}

// How the control plane hears where the partners are.
struct Way {
  std::string name;
  bool ordered = false;  // `shardctl prefer` says so; else by the requests
  int shards = 0;
  double rate = 0;  // calls a second, of each caller
};

v1::AppSpec Spec(const Way& way) {
  v1::AppSpec spec = SpecOf(v1::PRIMARY_ONLY, way.shards);
  for (int shard = 0; way.ordered && shard < way.shards; ++shard) {
    spec.mutable_key_space()->mutable_shards(shard)->set_preferred_region(PartnerOf(shard, 0));
  }
  if (!way.ordered) {
    spec.mutable_placement()->mutable_follow_demand()->set_after_ms(15'000);
    spec.mutable_moves()->set_collect_interval_ms(2'000);
  }
  return spec;
}

class Follow {
 public:
  Follow(const Way& way, const GeoFlags& flags, Figures& figures)
      : way_(way),
        flags_(flags),
        figures_(figures),
        regions_({.folder = flags.folder,
                  .regions = RegionNames(),
                  .servers_each = std::max(2, flags.servers / 4)}) {}

  absl::Status Run() { return regions_.Explained(Measure()); }

 private:
  absl::Status Measure() {
    if (absl::Status s = regions_.SetUp(Spec(way_)); !s.ok()) return s;
    SetCalls(0);
    for (const std::string& region : RegionNames()) {
      const absl::Status s = regions_.StartCaller(region, way_.rate, /*reads=*/false);
      if (!s.ok()) return s;
    }
    if (auto s = AwaitPartners(0, MonotonicNow()); !s.ok()) return s.status();
    begun_at_ = regions_.SecondsNow();
    for (int batch = 1; batch <= kBatches; ++batch) {
      std::this_thread::sleep_for(kCalm);
      if (absl::Status s = Move(batch); !s.ok()) return s;
    }
    std::this_thread::sleep_for(kCalm);
    return Report();
  }

  // The partners of the batch go, and their shards follow.
  absl::Status Move(int batch) {
    SetCalls(batch);
    moved_at_.push_back(regions_.SecondsNow());
    TimePoint begin = MonotonicNow();
    ordered_at_.push_back(0);
    if (way_.ordered) {
      std::this_thread::sleep_for(kUntilTheOrder);
      begin = MonotonicNow();
      if (absl::Status s = Order(batch); !s.ok()) return s;
    }
    const auto took = AwaitPartners(batch, begin);
    if (!took.ok()) return took.status();
    recovered_at_.push_back(regions_.SecondsNow());
    Add(absl::StrFormat("recover_s_%d %.1f s", batch, *took));
    return absl::OkStatus();
  }

  absl::Status Order(int batch) {
    ordered_at_.back() = regions_.SecondsNow();
    const std::string file = absl::StrCat(flags_.folder, "/preferences-", batch);
    std::ofstream preferences(file);
    for (int shard = 0; shard < way_.shards; ++shard) {
      if (BatchOf(shard) == batch) {
        preferences << ShardName(shard) << " " << PartnerOf(shard, batch) << "\n";
      }
    }
    preferences.close();
    const auto ordered = regions_.cluster().Shardctl({"prefer", "--file", file, "--app", "kv"});
    std::printf("%s", ordered.output.c_str());
    return ordered.exit_code == 0 ? absl::OkStatus() : absl::InternalError(ordered.output);
  }

  void Add(const std::string& figure) {
    figures_.push_back(absl::StrCat("FIGURE ", way_.name, "_", figure));
  }

  absl::StatusOr<double> AwaitPartners(int batches, TimePoint begin) const {
    const auto there = [batches](const MapView& view) {
      int shard = 0;
      return view.all_served() &&
             std::all_of(view.shards.begin(), view.shards.end(), [&](const MapView::Shard& s) {
               return IsIn(view, s, PartnerOf(shard++, batches));
             });
    };
    return regions_.Await("all are where their partners are", there, begin);
  }

  void SetCalls(int batches) {
    std::map<std::string, std::string> lines;
    for (int shard = 0; shard < way_.shards; ++shard) {
      absl::StrAppend(&lines[PartnerOf(shard, batches)], ShardName(shard), " ", BatchOf(shard),
                      "\n");
    }
    for (const std::string& region : RegionNames()) regions_.SetCalls(region, lines[region]);
  }

  absl::Status Report() {
    const double end = regions_.SecondsNow();
    CallerLog log;
    if (absl::Status s = regions_.StopCallers(log); !s.ok()) return s;
    std::ofstream samples(flags_.folder + "/follow.txt");
    for (int i = 0; i < kBatches; ++i) {
      samples << absl::StrFormat("# batch %d: moved at %.1f s, ordered at %.1f s\n", i + 1,
                                 moved_at_[i], ordered_at_[i]);
    }
    samples << "# second; ms on average, of calls of: the first batch, the second, the others\n";
    CallerSecond before, away, after;
    for (auto& [second, groups] : log.seconds) {
      if (second + 1 > end) break;  // a part of one
      const CallerSecond& first = groups[1];
      samples << absl::StrFormat("%d %.2f %.2f %.2f\n", second, first.mean_ms(),
                                 groups[2].mean_ms(), groups[0].mean_ms());
      const double told_at = way_.ordered ? ordered_at_[0] : moved_at_[0] + 10;
      if (second > begun_at_ + 1 && second + 1 < moved_at_[0]) before.Add(first);
      if (second > moved_at_[0] + 1 && second + 1 < told_at) away.Add(first);
      if (second > recovered_at_[0] + 1 && second + 1 < moved_at_[1]) after.Add(first);
    }
    uint64_t failed = 0;
    for (int group = 0; group <= kBatches; ++group) failed += log.Total(group).failed;
    Add(absl::StrFormat("latency_ms_before %.1f ms", before.mean_ms()));
    Add(absl::StrFormat("latency_ms_away %.1f ms", away.mean_ms()));
    Add(absl::StrFormat("latency_ms_after %.1f ms", after.mean_ms()));
    Add(absl::StrFormat("failed_calls %d calls", failed));
    Add(absl::StrFormat("refused_calls %d calls", log.refused));
    Add(absl::StrFormat("retried_calls %d calls", log.retried));
    return absl::OkStatus();
  }

  const Way way_;
  const GeoFlags& flags_;
  Figures& figures_;
  Regions regions_;
  double begun_at_ = 0;  // all were where their partners were
  // Of each batch, in seconds since the callers began.
  std::vector<double> moved_at_;
  std::vector<double> ordered_at_;
  std::vector<double> recovered_at_;
};

}  // namespace

absl::Status RunFollow(const GeoFlags& flags, Figures& figures) {
  return Follow({"follow", /*ordered=*/true, flags.shards, 80}, flags, figures).Run();
}

absl::Status RunDemand(const GeoFlags& flags, Figures& figures) {
  return Follow({"demand", /*ordered=*/false, 16, 160}, flags, figures).Run();
}

}  // namespace shardmanager
