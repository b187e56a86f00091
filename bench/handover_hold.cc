// One shard goes to and fro between three servers, while clients call it at fixed times.
//
// A handover's window is from the drain's order until 50 ms after the map named the new owner:
// clients that learn it late, and connect to it, are in it. The longest extra wait of a
// handover is that of the slowest call that was due in its window, over the median of the calls
// between the windows. What the machine does to calls by itself is shown in the same way: the
// longest extra wait in stretches between the windows, as long as the median window.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/random.h"
#include "handover_bench.h"
#include "quantile.h"
#include "runtime/clock.h"
#include "steady_load.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager {
namespace {

using local::Cluster;
using local::MapView;

constexpr std::chrono::seconds kPatience{60};
constexpr int kServers = 3;
constexpr Duration kClientsLag = Milliseconds(50);
const std::string kApp = "counter";

struct Window {
  TimePoint begin;
  TimePoint end;
};

v1::AppSpec Spec() {
  v1::AppSpec spec;
  spec.set_name(kApp);
  spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  spec.mutable_key_space()->add_shards()->set_id("all");
  spec.mutable_key_space()->mutable_shards(0)->mutable_range();
  return spec;
}

class Hold {
 public:
  explicit Hold(const HandoverFlags& flags) : flags_(flags) {}

  absl::Status SetUp() {
    const std::string folder = flags_.folder + "/hold";
    std::filesystem::remove_all(folder);  // of the run before; nothing else
    std::filesystem::create_directories(folder);
    auto cluster = Cluster::Make({.folder = folder, .app = kApp, .insecure = flags_.insecure});
    if (!cluster.ok()) return cluster.status();
    cluster_ = *std::move(cluster);
    std::filesystem::create_directories(cluster_->data_folder());
    if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
    if (absl::Status s = cluster_->admin().Apply(Spec()).status(); !s.ok()) return s;
    for (int i = 1; i <= kServers; ++i) {
      const std::string name = absl::StrCat("counter-", i);
      absl::Status s = cluster_->StartServer(
          {.name = name, .rack = name, .program = CounterProgram(*cluster_, flags_)});
      if (!s.ok()) return s;
    }
    map_ = cluster_->WatchMap();
    return AwaitOwner("").status();
  }

  // The handovers' windows, in order.
  absl::StatusOr<std::vector<Window>> Move() {
    std::vector<Window> windows;
    local::AdminClient admin = cluster_->admin();  // connected once
    Random random(1);
    for (int i = 0; i < flags_.moves; ++i) {
      // So that there is no rhythm.
      std::this_thread::sleep_for(kUntilItMayMove + std::chrono::milliseconds(random.Below(100)));
      const auto owner = AwaitOwner("");
      if (!owner.ok()) return owner.status();
      v1::DrainScope scope;
      scope.set_server(*owner);
      const TimePoint begin = MonotonicNow();
      if (absl::Status s = admin.Drain(kApp, scope); !s.ok()) return s;
      if (auto next = AwaitOwner(*owner); !next.ok()) return next.status();
      windows.push_back({begin, MonotonicNow() + kClientsLag});
      if (absl::Status s = admin.Undrain(kApp, scope); !s.ok()) return s;
      if ((i + 1) % 10 == 0) std::printf("hold: %d of %d moves\n", i + 1, flags_.moves);
      std::fflush(stdout);
    }
    return windows;
  }

  std::string discovery() const { return cluster_->discovery_endpoint(); }
  const Security& security() const { return cluster_->security().own(); }
  std::string Logs() const { return cluster_ ? cluster_->Logs(10) : ""; }

 private:
  // Who serves the shard, once it is another one than that.
  absl::StatusOr<std::string> AwaitOwner(const std::string& former) {
    MapView view;
    const auto other = [&](const MapView& v) {
      return v.all_served() && !v.counts().contains(former);
    };
    if (map_->WaitFor(other, kPatience, &view)) return view.counts().begin()->first;
    return absl::DeadlineExceededError(map_->view().Describe());
  }

  const HandoverFlags& flags_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<local::MapWatcher> map_;
};

using Call = SteadyLoad::Call;

// What the times between the windows have room for, each as long as the median window.
std::vector<Window> Stretches(const std::vector<Window>& windows) {
  std::vector<Duration> spans;
  for (const Window& window : windows) spans.push_back(window.end - window.begin);
  const Duration span = Quantile(spans, 0.5);
  std::vector<Window> stretches;
  for (size_t i = 1; i < windows.size(); ++i) {
    for (TimePoint t = windows[i - 1].end; t + span <= windows[i].begin; t += span) {
      stretches.push_back({t, t + span});
    }
  }
  return stretches;
}

// Those that were due in one of the windows, for each window what they took.
// REQUIRES: both ascend.
std::vector<std::vector<Duration>> CallsIn(const std::vector<Window>& windows,
                                           const std::vector<Call>& calls) {
  std::vector<std::vector<Duration>> in(windows.size());
  size_t at = 0;
  for (const Call& call : calls) {
    while (at < windows.size() && windows[at].end <= call.due) ++at;
    if (at == windows.size()) break;
    if (call.due >= windows[at].begin) in[at].push_back(call.took);
  }
  return in;
}

// The calls of some windows: all, and the longest of each window.
struct Waits {
  explicit Waits(const std::vector<std::vector<Duration>>& calls) {
    for (const std::vector<Duration>& in : calls) {
      if (in.empty()) continue;
      all.insert(all.end(), in.begin(), in.end());
      longest.push_back(*std::max_element(in.begin(), in.end()));
    }
  }
  std::vector<Duration> all;
  std::vector<Duration> longest;
};

void PrintCalls(const char* where, const std::vector<Duration>& calls) {
  std::printf("hold: calls %s: %zu; p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms, longest %.1f ms\n",
              where, calls.size(), Ms(Quantile(calls, 0.5)), Ms(Quantile(calls, 0.99)),
              Ms(Quantile(calls, 0.999)), Ms(Quantile(calls, 1)));
}

void PrintLongest(const char* of, const std::vector<Duration>& longest, Duration usual) {
  const auto ms = [&](double part) { return Ms(Quantile(longest, part) - usual); };
  std::printf("hold: longest extra wait of %zu %s: p50 %.2f ms, p90 %.2f, p99 %.2f, longest %.1f\n",
              longest.size(), of, ms(0.5), ms(0.9), ms(0.99), ms(1));
}

absl::StatusOr<std::vector<std::string>> Figures(const SteadyLoad::Totals& totals,
                                                 const std::vector<Window>& windows) {
  const Waits inside(CallsIn(windows, totals.calls));
  const Waits outside(CallsIn(Stretches(windows), totals.calls));
  if (inside.all.empty() || outside.all.empty())
    return absl::InternalError("too few calls to tell");
  const Duration usual = Quantile(outside.all, 0.5);
  PrintCalls("in handovers", inside.all);
  PrintCalls("outside", outside.all);
  PrintLongest("handovers", inside.longest, usual);
  PrintLongest("stretches without one", outside.longest, usual);
  std::printf("hold: %zu calls, %d failed, %d attempts repeated, %d wrong counts, %d epochs back\n",
              totals.calls.size(), static_cast<int>(totals.failed),
              static_cast<int>(totals.retried), static_cast<int>(totals.wrong),
              static_cast<int>(totals.backward));
  if (totals.failed + totals.retried + totals.wrong + totals.backward > 0) {
    return absl::DataLossError("a request failed, was repeated, lost, or processed twice");
  }
  return std::vector<std::string>{absl::StrFormat("FIGURE handover_hold_p50_ms %.2f ms",
                                                  Ms(Quantile(inside.longest, 0.5) - usual)),
                                  absl::StrFormat("FIGURE handover_hold_p99_ms %.2f ms",
                                                  Ms(Quantile(inside.longest, 0.99) - usual)),
                                  absl::StrFormat("FIGURE handover_quiet_p99_ms %.2f ms",
                                                  Ms(Quantile(outside.longest, 0.99) - usual))};
}

}  // namespace

absl::StatusOr<std::vector<std::string>> MeasureHold(const HandoverFlags& flags) {
  Hold hold(flags);
  const auto with_logs = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(status.message(), "\n", hold.Logs()));
  };
  if (absl::Status s = hold.SetUp(); !s.ok()) return with_logs(s);
  SteadyLoad load({.discovery = hold.discovery(),
                   .security = hold.security(),
                   .calls_per_s = flags.calls_per_s});
  std::this_thread::sleep_for(std::chrono::seconds(2));  // until all is connected
  const auto windows = hold.Move();
  if (!windows.ok()) return with_logs(windows.status());
  const auto figures = Figures(load.Stop(), *windows);
  return figures.ok() ? figures : with_logs(figures.status());
}

}  // namespace shardmanager
