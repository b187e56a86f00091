#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "counter.grpc.pb.h"
#include "geo/scenarios.h"
#include "own_servers.h"
#include "runtime/clock.h"
#include "shardmanager/router.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager {
namespace {

using local::Cluster;
using local::MapView;

constexpr std::chrono::seconds kPatience{120};
constexpr int kServers = 6;
constexpr int kShards = 12;
constexpr int kHot = kShards / 2;
constexpr double kLow = 20;     // requests a second
constexpr double kHigh = 200;   // likewise
constexpr double kTarget = 50;  // of one replica
constexpr double kTolerance = 0.1;

std::string ShardName(int shard) { return absl::StrFormat("s-%02d", shard); }

// ---- clients ----

// One loop for each shard, at a rate that follows the time of day.
class Clients {
 public:
  Clients(const std::string& discovery, double day_s) : day_s_(day_s), calls_(kShards) {
    for (int shard = 0; shard < kShards; ++shard) {
      threads_.emplace_back([this, discovery, shard] { Run(discovery, shard); });
    }
  }
  ~Clients() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  uint64_t calls(int shard) const { return calls_[static_cast<size_t>(shard)]; }
  uint64_t failed() const { return failed_; }
  // The rate of a hot shard at that part of the day: low, rising, high, falling, low.
  static double RateAt(double part) {
    constexpr double kRises = 0.1, kIsHigh = 0.3, kFalls = 0.55, kIsLow = 0.75;
    if (part < kRises || part >= kIsLow) return kLow;
    if (part < kIsHigh) return kLow + (kHigh - kLow) * (part - kRises) / (kIsHigh - kRises);
    if (part < kFalls) return kHigh;
    return kHigh - (kHigh - kLow) * (part - kFalls) / (kIsLow - kFalls);
  }

 private:
  void Run(const std::string& discovery, int shard) {
    Router router({.discovery = {discovery}});
    const TimePoint begin = MonotonicNow();
    TimePoint next = begin;
    while (!stop_) {
      counter::AddRequest request;
      request.set_key(ShardName(shard));
      counter::AddResponse response;
      const grpc::Status status =
          router.GetClientForShard<counter::Counter>("kv", ShardId(request.key()))
              .Call(&counter::Counter::Stub::Add, request, &response,
                    {.timeout = std::chrono::seconds(5)});
      failed_ += status.ok() ? 0 : 1;
      ++calls_[static_cast<size_t>(shard)];
      const double part = InSeconds(MonotonicNow() - begin) / day_s_;
      const double rate = shard < kHot ? RateAt(part) : kLow;
      next = std::max(next + Duration(static_cast<int64_t>(1e6 / rate)),
                      MonotonicNow() - Milliseconds(100));
      if (next > MonotonicNow()) std::this_thread::sleep_for(next - MonotonicNow());
    }
  }

  const double day_s_;
  std::atomic<bool> stop_{false};
  std::vector<std::atomic<uint64_t>> calls_;
  std::atomic<uint64_t> failed_{0};
  std::vector<std::thread> threads_;
};

// ---- the cluster ----

v1::AppSpec Spec() {
  v1::AppSpec spec;
  spec.set_name("kv");
  spec.mutable_replication()->set_strategy(v1::SECONDARY_ONLY);
  for (int shard = 0; shard < kShards; ++shard) {
    spec.mutable_key_space()->add_shards()->set_id(ShardName(shard));
  }
  spec.add_metrics()->set_name("requests");
  spec.mutable_moves()->set_collect_interval_ms(1'000);
  v1::ScalingPolicy& scaling = *spec.mutable_scaling();
  scaling.set_metric("requests");
  scaling.set_target(kTarget);
  scaling.set_tolerance(kTolerance);
  scaling.set_max_replicas(6);
  scaling.set_down_after_ms(10'000);
  scaling.set_max_changes_per_minute("60");
  return spec;
}

class ScalingDay {
 public:
  explicit ScalingDay(const GeoFlags& flags) : flags_(flags) {}

  absl::Status SetUp() {
    auto cluster = Cluster::Make({.folder = flags_.folder});
    if (!cluster.ok()) return cluster.status();
    cluster_ = *std::move(cluster);
    if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
    if (absl::Status s = StartOwnServers(*cluster_, kServers); !s.ok()) return s;
    if (absl::Status s = cluster_->admin().Apply(Spec()).status(); !s.ok()) return s;
    map_ = cluster_->WatchMap();
    const auto served = [](const MapView& view) { return view.all_served(); };
    if (map_->WaitFor(served, kPatience)) return absl::OkStatus();
    return absl::DeadlineExceededError(map_->view().Describe());
  }

  absl::Status Run(Figures& figures) {
    Clients clients(cluster_->discovery_endpoint(), flags_.day_s);
    std::ofstream samples(flags_.folder + "/scaling.txt");
    samples << "# seconds; of a shard that gets hot, on average: requests a second, replicas\n";
    std::vector<uint64_t> before(kHot);
    double replicas = 0, over = 0, over_fixed = 0;
    const TimePoint begin = MonotonicNow();
    TimePoint last = begin;
    for (int second = 1; second <= flags_.day_s; ++second) {
      std::this_thread::sleep_for(begin + Seconds(second) - MonotonicNow());
      const double took = InSeconds(MonotonicNow() - std::exchange(last, MonotonicNow()));
      const MapView view = map_->view();
      double requests = 0, now_replicas = 0;
      for (int shard = 0; shard < kHot; ++shard) {
        uint64_t& known = before[static_cast<size_t>(shard)];
        const uint64_t calls = clients.calls(shard);
        const double rate = static_cast<double>(calls - std::exchange(known, calls)) / took;
        const double count = ReplicasOf(view, ShardName(shard));
        requests += rate / kHot;
        now_replicas += count / kHot;
        over += rate / std::max(1.0, count) > kTarget * (1 + kTolerance);
        over_fixed += rate > kTarget * (1 + kTolerance);
      }
      replicas += now_replicas;
      samples << absl::StrFormat("%d %.1f %.2f\n", second, requests, now_replicas);
      if (second % 20 == 0) {
        std::printf("%3d s: %.0f requests a second, %.1f replicas\n", second, requests,
                    now_replicas);
        std::fflush(stdout);
      }
    }
    std::printf("%s",
                cluster_->Shardctl({"describe", "shard", "s-00", "--app", "kv"}).output.c_str());
    const double shard_seconds = static_cast<double>(flags_.day_s) * kHot;
    figures.push_back(absl::StrFormat("FIGURE scaling_replicas_pct %.1f %%",
                                      100 * replicas / flags_.day_s / std::ceil(kHigh / kTarget)));
    figures.push_back(
        absl::StrFormat("FIGURE scaling_over_pct %.1f %%", 100 * over / shard_seconds));
    figures.push_back(
        absl::StrFormat("FIGURE scaling_over_pct_fixed %.1f %%", 100 * over_fixed / shard_seconds));
    figures.push_back(absl::StrFormat("FIGURE scaling_failed_calls %d calls", clients.failed()));
    return absl::OkStatus();
  }

  std::string Logs() const { return cluster_ ? cluster_->Logs(20) : ""; }

 private:
  static double ReplicasOf(const MapView& view, const std::string& id) {
    for (const MapView::Shard& shard : view.shards) {
      if (shard.id == id) return static_cast<double>(shard.servers.size());
    }
    return 0;
  }

  const GeoFlags& flags_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<local::MapWatcher> map_;
};

}  // namespace

absl::Status RunScaling(const GeoFlags& flags, Figures& figures) {
  ScalingDay day(flags);
  absl::Status status = day.SetUp();
  if (status.ok()) status = day.Run(figures);
  if (!status.ok()) std::fprintf(stderr, "%s\n", day.Logs().c_str());
  return status;
}

}  // namespace shardmanager
