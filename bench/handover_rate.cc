// Racks of six of 60 server processes are drained, one after the other: a tenth of 10,000
// primaries is handed over each time. Counted from the drain's order until a subscriber of the
// relay has a map that names other servers for all of them; the order's own plan and the
// publication are within. The processor time that each kind of process takes meanwhile tells
// what bounds it.
//
// In the first tour of the racks, which is shown but not counted, servers connect to each other
// (each old owner to each new one that it forwards to).
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/time.h"
#include "handover_bench.h"
#include "runtime/clock.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager {
namespace {

using local::Cluster;
using local::MapView;

constexpr std::chrono::seconds kPatience{120};
constexpr int kRack = 6;  // servers
const std::string kApp = "counter";

std::string Name(int server) { return absl::StrCat("counter-", server); }
std::string RackOf(int server) { return absl::StrCat("rack-", server / kRack); }

v1::AppSpec Spec(const HandoverFlags& flags) {
  v1::AppSpec spec;
  spec.set_name(kApp);
  spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  for (int shard = 1; shard < flags.shards; ++shard) {
    spec.mutable_key_space()->add_split_points(absl::StrFormat("%06d", shard));
  }
  spec.mutable_moves()->set_max_concurrent(2'000);
  spec.mutable_moves()->set_max_concurrent_per_server(500);
  spec.mutable_moves()->set_balance_interval_ms(2'000);
  return spec;
}

// Processor time so far of a process ("/proc/7") or thread ("/proc/7/task/8"), in seconds.
double CpuOf(const std::string& folder) {
  std::ifstream file(folder + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  // The name may hold anything, but no ")" follows it: proc(5). From there, 12th and 13th.
  std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string skipped;
  for (int i = 0; i < 11; ++i) rest >> skipped;
  double user = 0;
  double system = 0;
  rest >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double CpuOf(pid_t pid) { return CpuOf(absl::StrCat("/proc/", pid)); }

// Of the process's threads of this name.
double CpuOf(pid_t pid, const std::string& thread) {
  double cpu = 0;
  for (const auto& task :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", pid, "/task"))) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    if (name == thread) cpu += CpuOf(task.path().string());
  }
  return cpu;
}

class Rate {
 public:
  explicit Rate(const HandoverFlags& flags) : flags_(flags) {}

  absl::Status SetUp() {
    const std::string folder = flags_.folder + "/rate";
    std::filesystem::remove_all(folder);  // of the run before; nothing else
    std::filesystem::create_directories(folder);
    auto cluster = Cluster::Make(
        {.folder = folder, .app = kApp, .insecure = flags_.insecure, .session_timeout_ms = 10'000});
    if (!cluster.ok()) return cluster.status();
    cluster_ = *std::move(cluster);
    std::filesystem::create_directories(cluster_->data_folder());
    if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
    if (absl::Status s = cluster_->admin().Apply(Spec(flags_)).status(); !s.ok()) return s;
    for (int i = 0; i < flags_.servers; ++i) {
      absl::Status s = cluster_->StartServer(
          {.name = Name(i), .rack = RackOf(i), .program = CounterProgram(*cluster_, flags_)});
      if (!s.ok()) return s;
    }
    map_ = cluster_->WatchMap();
    return AwaitBalance();
  }

  // Handovers in a second, while that rack is drained. REQUIRES: the map is balanced.
  absl::StatusOr<double> Drain(int rack) {
    const int first = rack * kRack;
    std::this_thread::sleep_for(kUntilItMayMove);  // what came here after the last drain
    v1::DrainScope scope;
    scope.mutable_domain()->set_region("region-1");
    scope.mutable_domain()->set_datacenter("dc-1");
    scope.mutable_domain()->set_rack(RackOf(first));
    const size_t shards = ShardsOf(map_->view(), first);
    const auto cpu = CpuByKind();
    const TimePoint begin = MonotonicNow();
    if (absl::Status s = cluster_->admin().Drain(kApp, scope); !s.ok()) return s;
    MapView view;
    const auto empty = [&](const MapView& v) { return v.all_served() && ShardsOf(v, first) == 0; };
    if (!map_->WaitFor(empty, kPatience, &view)) return TimedOut("drain");
    const double took = InSeconds(view.changed - begin);
    Print(RackOf(first), shards, took, cpu);
    if (absl::Status s = cluster_->admin().Undrain(kApp, scope); !s.ok()) return s;
    if (absl::Status s = AwaitBalance(); !s.ok()) return s;
    return static_cast<double>(shards) / took;
  }

  std::string Logs() const { return cluster_ ? cluster_->Logs(3) : ""; }

 private:
  static size_t ShardsOf(const MapView& view, int first) {
    size_t shards = 0;
    const auto counts = view.counts();
    for (int i = first; i < first + kRack; ++i) {
      const auto count = counts.find(Name(i));
      if (count != counts.end()) shards += count->second;
    }
    return shards;
  }

  std::map<std::string, double> CpuByKind() const {
    const pid_t manager = cluster_->control_plane().pid();
    std::map<std::string, double> cpu{{"ZooKeeper", CpuOf(cluster_->zookeeper().pid())},
                                      {"solver", CpuOf(manager, "solver")},
                                      {"control", CpuOf(manager, "control")},
                                      {"shard-discoveryd", CpuOf(cluster_->discovery().pid())},
                                      {"this subscriber", CpuOf(getpid())}};
    cpu["shardmanagerd's rest"] = CpuOf(manager) - cpu["solver"] - cpu["control"];
    double& servers = cpu["servers"];
    for (int i = 0; i < flags_.servers; ++i) servers += CpuOf(cluster_->server(Name(i)).pid());
    return cpu;
  }

  void Print(const std::string& rack, size_t shards, double took,
             const std::map<std::string, double>& cpu_before) const {
    std::string cpu;
    for (const auto& [kind, after] : CpuByKind()) {
      const double us = (after - cpu_before.at(kind)) / static_cast<double>(shards) * 1e6;
      absl::StrAppend(&cpu, cpu.empty() ? "" : ", ", kind, " ", static_cast<int>(us));
    }
    std::printf("rate: %s: %zu handovers in %.0f ms: %.0f/s; processor us each: %s\n", rack.c_str(),
                shards, took * 1e3, static_cast<double>(shards) / took, cpu.c_str());
    std::fflush(stdout);
  }

  absl::Status AwaitBalance() {
    const auto balanced = [servers = static_cast<size_t>(flags_.servers)](const MapView& view) {
      return view.balanced(servers);
    };
    return map_->WaitFor(balanced, kPatience) ? absl::OkStatus() : TimedOut("balance");
  }

  absl::Status TimedOut(const char* what) const {
    return absl::DeadlineExceededError(absl::StrCat(what, ": ", map_->view().Describe()));
  }

  const HandoverFlags& flags_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<local::MapWatcher> map_;
};

// The median of all rounds but those of the first tour.
absl::StatusOr<double> Measure(Rate& rate, const HandoverFlags& flags) {
  if (absl::Status s = rate.SetUp(); !s.ok()) return s;
  std::vector<double> rates;
  const int tour = flags.servers / kRack;
  for (int round = 0; round < tour + flags.rounds; ++round) {
    auto measured = rate.Drain(round % tour);
    if (!measured.ok()) return measured.status();
    if (round >= tour) rates.push_back(*measured);
  }
  std::sort(rates.begin(), rates.end());
  std::printf("rate: %zu drains after the first tour: %.0f to %.0f/s\n", rates.size(),
              rates.front(), rates.back());
  return rates[rates.size() / 2];
}

}  // namespace

absl::StatusOr<std::vector<std::string>> MeasureRate(const HandoverFlags& flags) {
  Rate rate(flags);
  const auto measured = Measure(rate, flags);
  if (!measured.ok()) {
    return absl::Status(measured.status().code(),
                        absl::StrCat(measured.status().message(), "\n", rate.Logs()));
  }
  return std::vector<std::string>{absl::StrFormat("FIGURE handovers_per_s %.0f /s", *measured)};
}

}  // namespace shardmanager
