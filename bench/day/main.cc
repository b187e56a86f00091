// A day of changing loads, as in Figure 23 of the paper: scripts/bench day.
//
// 2,000 simulated servers hold 40,000 shards; the real core of the orchestrator hears what they
// report, has the real solver plan, and moves shards. Time is virtual; a server takes half a
// minute to load a shard. Each five minutes the utilization of all servers is noted
// (FOLDER/day.txt; the picture: bench/day/day.gnuplot), beside what it would be if every shard
// had stayed where it was at the day's begin.
//   day_p99_max_pct           utilization of a server at the 99th percentile, at its worst time
//   day_p99_max_pct_fixed     the same without balance
//   day_over_server_minutes   that servers were above the threshold (90 %), and without balance:
//   day_over_server_minutes_fixed
//   day_moves                 of shards in the day
//   day_bounces               moves back to a server that the shard had left within the hour
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "day/loads.h"
#include "model/spec/spec_validation.h"
#include "whatif/imagined_cell.h"

namespace shardmanager {
namespace {

using orchestrator::MetricAmount;

constexpr double kCapacity = 100;  // of a server
constexpr double kThreshold = 0.9;
constexpr Duration kLoadTime = Seconds(30);  // of a shard
constexpr int kSample_s = 300;
constexpr int kDay_s = 24 * 3'600;

struct Flags {
  int servers = 2'000;
  int shards = 40'000;
  int hours = 24;
  double peak_pct = 65;  // of all servers' capacity
  uint64_t seed = 1;
  std::string folder = "build/day";
};

std::string ShardName(uint32_t shard) { return absl::StrFormat("s-%06d", shard); }
uint32_t NumberOf(const std::string& shard) {
  return static_cast<uint32_t>(std::stoul(shard.substr(2)));
}

v1::AppSpec Spec(const Flags& flags) {
  v1::AppSpec spec;
  spec.set_name("day");
  for (int shard = 0; shard < flags.shards; ++shard) {
    spec.mutable_key_space()->add_shards()->set_id(ShardName(static_cast<uint32_t>(shard)));
  }
  spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  spec.mutable_moves()->set_collect_interval_ms(60'000);
  spec.mutable_moves()->set_balance_interval_ms(60'000);
  spec.mutable_moves()->set_max_concurrent(200);
  v1::Metric& cpu = *spec.add_metrics();
  cpu.set_name("cpu");
  cpu.set_capacity(kCapacity);
  cpu.set_threshold(kThreshold);
  return WithDefaults(std::move(spec));
}

// The utilization of all servers at one time.
struct Utilization {
  double mean = 0, p50 = 0, p99 = 0, most = 0;  // percent
  size_t over = 0;                              // servers above the threshold

  static Utilization Of(std::vector<double> loads) {
    std::sort(loads.begin(), loads.end());
    Utilization u;
    for (double& load : loads) {
      load *= 100 / kCapacity;
      u.mean += load / static_cast<double>(loads.size());
      u.over += load > 100 * kThreshold;
    }
    u.p50 = loads[loads.size() / 2];
    u.p99 = loads[loads.size() * 99 / 100];
    u.most = loads.back();
    return u;
  }
};

class Day {
 public:
  explicit Day(const Flags& flags)
      : flags_(flags),
        loads_({.shards = static_cast<uint32_t>(flags.shards),
                .peak = flags.peak_pct / 100 * kCapacity * flags.servers,
                .seed = flags.seed}),
        cell_(Empty(flags), kLoadTime) {}

  void Run() {
    SetUp();
    std::filesystem::create_directories(flags_.folder);
    std::ofstream samples(flags_.folder + "/day.txt");
    samples << "# hour; utilization in %: mean, p50, p99, most; without balance: p50, p99, most; "
               "moves in an hour\n";
    for (int second = 0; second <= flags_.hours * 3'600; second += kSample_s) {
      if (second > 0) cell_.Run(Seconds(kSample_s));
      Note(second, samples);
    }
  }

  void PrintFigures() const {
    std::printf("FIGURE day_p99_max_pct %.1f %%\n", p99_);
    std::printf("FIGURE day_p99_max_pct_fixed %.1f %%\n", p99_fixed_);
    std::printf("FIGURE day_over_server_minutes %.0f min\n", over_min_);
    std::printf("FIGURE day_over_server_minutes_fixed %.0f min\n", over_min_fixed_);
    std::printf("FIGURE day_moves %zu moves\n", moves_);
    std::printf("FIGURE day_bounces %zu moves\n", bounces_);
  }

 private:
  struct Whereabouts {
    std::string server;
    std::string left;  // the one before
    int left_at = 0;
  };

  // All servers, and no shard has a place yet.
  static v1::AppSnapshot Empty(const Flags& flags) {
    v1::AppSnapshot snapshot;
    *snapshot.mutable_app()->mutable_spec() = Spec(flags);
    for (int i = 0; i < flags.servers; ++i) {
      v1::ServerStatus& server = *snapshot.add_servers();
      server.set_server(absl::StrFormat("server-%04d", i));
      server.set_state("live");
      v1::FaultDomain& at = *server.mutable_fault_domain();
      at.set_region(absl::StrCat("region-", i % 3));
      at.set_datacenter(absl::StrCat("dc-", i % 6));
      at.set_rack(absl::StrCat("rack-", i % 120));
    }
    return snapshot;
  }

  void SetUp() {
    // Time to place all, and to balance what is known of the first reports.
    constexpr Duration kBefore = Seconds(7'200);
    begins_ = cell_.now() + kBefore;
    cell_.SetLoads([this](const std::string& shard) {
      return std::vector<MetricAmount>{{"cpu", loads_.Reported(NumberOf(shard), Second())}};
    });
    cell_.Run(kBefore);
    fixed_ = ShardsByServer();
    where_.resize(static_cast<size_t>(flags_.shards));
    for (const auto& [server, shards] : fixed_) {
      for (const uint32_t shard : shards) where_[shard].server = server;
    }
  }

  double Second() const { return std::clamp(InSeconds(cell_.now() - begins_), 0.0, 1.0 * kDay_s); }

  using ShardsOfServers = std::map<std::string, std::vector<uint32_t>>;
  ShardsOfServers ShardsByServer() const {
    const orchestrator::Tables& tables = cell_.state().tables;
    ShardsOfServers shards;
    for (int i = 0; i < flags_.servers; ++i) shards[absl::StrFormat("server-%04d", i)];
    for (const ShardIndex id : cell_.state().map_order) {
      tables.ForEach(id, [&](auto, const orchestrator::Replica& replica) {
        const bool serves =
            replica.phase == Phase::kGranted && replica.contact == orchestrator::Contact::kDone;
        if (serves) shards[tables.name(replica.server)].push_back(NumberOf(tables.name(id)));
      });
    }
    return shards;
  }
  double LoadOf(const std::vector<uint32_t>& shards, int second) const {
    double sum = 0;
    for (const uint32_t shard : shards) sum += loads_.At(shard, second);
    return sum;
  }

  void Note(int second, std::ofstream& samples) {
    std::vector<double> now, fixed;
    size_t moved = 0;
    for (const auto& [name, shards] : ShardsByServer()) {
      for (const uint32_t shard : shards) moved += NoteMove(where_[shard], name, second);
      now.push_back(LoadOf(shards, second));
      fixed.push_back(LoadOf(fixed_.at(name), second));
    }
    moves_ += moved;
    const Utilization u = Utilization::Of(std::move(now));
    const Utilization f = Utilization::Of(std::move(fixed));
    p99_ = std::max(p99_, u.p99);
    p99_fixed_ = std::max(p99_fixed_, f.p99);
    over_min_ += static_cast<double>(u.over) * kSample_s / 60;
    over_min_fixed_ += static_cast<double>(f.over) * kSample_s / 60;
    const double hour = second / 3'600.0;
    samples << absl::StrFormat("%.3f %.2f %.2f %.2f %.2f %.2f %.2f %.2f %d\n", hour, u.mean, u.p50,
                               u.p99, u.most, f.p50, f.p99, f.most, moved * 3'600 / kSample_s);
    if (second % 3'600 == 0) {
      std::printf("%2.0f h: mean %.1f %%, p99 %.1f %%, without balance %.1f %%; %zu moves so far\n",
                  hour, u.mean, u.p99, f.p99, moves_);
      std::fflush(stdout);
    }
  }

  // (Of a shard that moves twice within a sample, one is seen. Each move is seen at the first
  // sample after it: what is seen an hour apart was that long apart, or up to a sample more or
  // less.)
  size_t NoteMove(Whereabouts& shard, const std::string& server, int second) {
    if (shard.server == server) return 0;
    bounces_ += shard.left == server && second - shard.left_at < 3'600;
    shard = {.server = server, .left = shard.server, .left_at = second};
    return 1;
  }

  const Flags flags_;
  DayOfLoads loads_;
  whatif::ImaginedCell cell_;
  TimePoint begins_{};
  std::vector<Whereabouts> where_;  // by shard
  ShardsOfServers fixed_;           // the day's first placement
  double p99_ = 0, p99_fixed_ = 0, over_min_ = 0, over_min_fixed_ = 0;
  size_t moves_ = 0, bounces_ = 0;
};

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App cli("A day of changing loads through the orchestrator's core.");
  cli.add_option("--servers", flags.servers)->check(CLI::Range(4, 10'000))->capture_default_str();
  cli.add_option("--shards", flags.shards)->check(CLI::Range(4, 400'000))->capture_default_str();
  cli.add_option("--hours", flags.hours)->check(CLI::Range(1, 24))->capture_default_str();
  cli.add_option("--peak", flags.peak_pct, "Of all load at its peak, in percent of the capacity")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  cli.add_option("--seed", flags.seed, "Of all loads")->capture_default_str();
  cli.add_option("--folder", flags.folder, "For the samples")->capture_default_str();
  CLI11_PARSE(cli, argc, argv);
  Day day(flags);
  day.Run();
  day.PrintFigures();
  return 0;
}

}  // namespace
}  // namespace shardmanager

int main(int argc, char** argv) { return shardmanager::Main(argc, argv); }
