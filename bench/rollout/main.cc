// What do clients notice of a rolling upgrade by two cluster managers? scripts/bench rollout
//
// After the paper's Figure 17: all server processes, in two regions, are restarted under
// closed-loop clients, at most 10 % of them at a time; three times:
//   graceful         two managers ask the task controller; primaries are handed over before
//   no_task_control  primaries could be handed over, but batches are stopped (SIGTERM) without
//   asking rude             batches are killed (SIGKILL) without asking, and nothing is handed over
// A request succeeds, for the figures, if its first attempt was answered (see upgrade_load.h).
//
// rollout_over_least: the time of the graceful way over the least that its cap on servers allows:
//   ceil(servers / most servers away) * the time that one server's restart takes through the task
//   controller with nothing else under way, from the first report until its new life is live (the
//   median of three). It includes the drain of the server's primaries.
//
// moves_per_shard: how often a primary's server changed in the map, from the first report of the
// graceful
//   way until both managers are done. Without spare servers it cannot be below 1 + batch / (servers
//   - batch) * (1 - batch / servers) (see LeastMoves).
//
// regions: two replicas of each shard, one in each region, and both managers want to restart all
// servers at once. regions_most_away_of_a_shard: the most replicas of one shard that were away at
// any time, in the map or because their process was told to stop and its successor did not run yet.
//
// maintenance: notice that one of two regions loses its processes (SIGKILL of all at once), 20 s
// ahead: 10 minutes scaled down. maintenance_ready_s: how long before it begins the last primary
// has left.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rollout/fleet.h"
#include "runtime/clock.h"
#include "upgrade_load.h"

namespace shardmanager {
namespace {

struct Flags {
  int servers = 40;
  int shards = 4'000;
  int batch_percent = 10;
  int clients = 4;
  std::string only;
  std::string folder = "build/rollout";

  int batch() const { return std::max(1, servers * batch_percent / 100); }
  bool Wants(const std::string& way) const { return only.empty() || only == way; }
};

struct Way {
  const char* name;
  v1::PrimaryMove move;
  int signal;  // 0: through the task controller
};
constexpr Way kWays[] = {{"graceful", v1::HANDOVER, 0},
                         {"no_task_control", v1::HANDOVER, SIGTERM},
                         {"rude", v1::DROP_THEN_ADD, SIGKILL}};

v1::AppSpec Spec(int shards, const std::string& most_away) {
  v1::AppSpec spec;
  spec.set_name("counter");
  spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  for (int shard = 1; shard < shards; ++shard) {
    spec.mutable_key_space()->add_split_points(absl::StrFormat("%06d", shard));
  }
  spec.mutable_failover()->set_delay_ms(0);
  spec.mutable_moves()->set_max_concurrent(2'000);
  spec.mutable_moves()->set_max_concurrent_per_server(500);
  spec.mutable_moves()->set_balance_interval_ms(500);
  spec.mutable_availability()->set_max_unavailable_servers(most_away);
  return spec;
}

double SecondsSince(TimePoint then) { return InSeconds(MonotonicNow() - then); }

// One replica's way: the first batch can only go to servers that are still to be restarted, so its
// shards move twice. Each later batch of b servers holds b / (n - b) of all shards, and goes to the
// batch restarted before. n / b batches.
double LeastMoves(double n, double b) { return b / n + (n / b - 1) * b / (n - b); }

class Rollout {
 public:
  Rollout(const Flags& flags, const Way& way)
      : flags_(flags),
        way_(way),
        fleet_({.folder = absl::StrCat(flags.folder, "/rollout-", way.name),
                .restarts = absl::StrCat(flags.folder, "/", way.name, "-restarts.txt"),
                .servers = flags.servers}) {}

  absl::Status Run(std::vector<std::string>& figures) {
    v1::AppSpec spec = Spec(flags_.shards, absl::StrCat(flags_.batch_percent, "%"));
    spec.mutable_moves()->set_primary_move(way_.move);
    if (absl::Status s = fleet_.SetUp(spec); !s.ok()) return s;
    UpgradeLoad load({.discovery = fleet_.cluster().discovery_endpoint(),
                      .clients = flags_.clients,
                      .shards = flags_.shards,
                      .samples = absl::StrCat(flags_.folder, "/", way_.name, ".txt")});
    const bool asks = way_.signal == 0;
    double one_s = 0;
    if (asks) {
      if (absl::Status s = MeasureOne(one_s); !s.ok()) return s;
    }
    if (absl::Status s = fleet_.Rest(); !s.ok()) return s;  // for the picture, too
    load.Take();
    fleet_.map_log().Reset();
    const TimePoint begin = MonotonicNow();
    const absl::Status restarted =
        asks ? fleet_.RestartWithTaskControl(1, flags_.servers) : RestartInBatches();
    if (!restarted.ok()) return restarted;
    const double took_s = SecondsSince(begin);
    const UpgradeLoad::Totals totals = load.Take();
    const double moves = static_cast<double>(fleet_.map_log().moves()) / flags_.shards;
    const double bad = static_cast<double>(totals.failed + totals.retried);
    std::printf(
        "%s: %.1f s, %.3f moves a shard; %d calls, %d failed, %d attempts repeated; %d wrong "
        "counts, %d epochs that went back\n",
        way_.name, took_s, moves, static_cast<int>(totals.calls), static_cast<int>(totals.failed),
        static_cast<int>(totals.retried), static_cast<int>(totals.wrong),
        static_cast<int>(totals.backward));
    std::fflush(stdout);
    figures.push_back(absl::StrFormat("FIGURE rollout_success_pct_%s %.4f %%", way_.name,
                                      100 * (1 - bad / static_cast<double>(totals.calls))));
    if (asks) AddFigures(took_s, one_s, moves, figures);
    // The counter keeps its counts in memory, so a kill loses some.
    if (way_.signal != SIGKILL && totals.wrong + totals.backward > 0) {
      return absl::DataLossError("a request was lost, processed twice or out of order");
    }
    return absl::OkStatus();
  }

  std::string Logs() const { return fleet_.Logs(); }

 private:
  // Median of three, one server after the other, each time from rest.
  absl::Status MeasureOne(double& one_s) {
    std::vector<double> took_s;
    for (int i = 1; i <= std::min(3, flags_.servers); ++i) {
      if (absl::Status s = fleet_.Rest(); !s.ok()) return s;
      const TimePoint begin = MonotonicNow();
      if (absl::Status s = fleet_.RestartWithTaskControl(i, i); !s.ok()) return s;
      took_s.push_back(SecondsSince(begin));
      if (absl::Status s = fleet_.AwaitBalance(); !s.ok()) return s;
    }
    std::sort(took_s.begin(), took_s.end());
    one_s = took_s[took_s.size() / 2];
    return absl::OkStatus();
  }

  absl::Status RestartInBatches() {
    // Long enough for the control plane to notice that a killed server is away.
    const std::chrono::milliseconds least = fleet_.cluster().detection_bound();
    for (int first = 1; first <= flags_.servers; first += flags_.batch()) {
      const int last = std::min(first + flags_.batch() - 1, flags_.servers);
      if (absl::Status s = fleet_.RestartUnasked(first, last, way_.signal, least); !s.ok())
        return s;
    }
    return absl::OkStatus();
  }

  void AddFigures(double took_s, double one_s, double moves,
                  std::vector<std::string>& figures) const {
    const int batches = (flags_.servers + flags_.batch() - 1) / flags_.batch();
    const double least_s = batches * one_s;
    std::printf(
        "graceful: %d batches, one server alone takes %.2f s, so %.1f s at least; at least "
        "%.3f moves a shard without spare servers\n",
        batches, one_s, least_s, LeastMoves(flags_.servers, flags_.batch()));
    figures.push_back(absl::StrFormat("FIGURE rollout_s %.1f s", took_s));
    figures.push_back(absl::StrFormat("FIGURE rollout_over_least %.2f times", took_s / least_s));
    figures.push_back(absl::StrFormat("FIGURE moves_per_shard %.3f moves", moves));
  }

  const Flags flags_;
  const Way way_;
  Fleet fleet_;
};

absl::Status RunRegions(const Flags& flags, std::vector<std::string>& figures) {
  constexpr int kServers = 16;
  Fleet fleet({.folder = absl::StrCat(flags.folder, "/rollout-regions"),
               .restarts = absl::StrCat(flags.folder, "/regions-restarts.txt"),
               .servers = kServers});
  v1::AppSpec spec = Spec(/*shards=*/400, /*most_away=*/"25%");
  spec.mutable_replication()->set_strategy(v1::SECONDARY_ONLY);
  spec.mutable_replication()->set_replicas(2);
  spec.mutable_placement()->set_spread(v1::REGION);
  spec.mutable_failover()->set_delay_ms(30'000);
  absl::Status status = fleet.SetUp(spec);
  if (!status.ok()) {
    std::cerr << fleet.Logs();
    return status;
  }
  fleet.map_log().Reset();
  const TimePoint first = MonotonicNow();
  status = fleet.RestartWithTaskControl(1, kServers);
  if (!status.ok()) return status;
  std::printf("regions: %d servers restarted in %.1f s\n", kServers, SecondsSince(first));
  const size_t most = fleet.map_log().most_away();
  figures.push_back(absl::StrFormat("FIGURE regions_most_away_of_a_shard %d replicas", most));
  if (most > 1) {
    return absl::InternalError(absl::StrCat("shard ", fleet.map_log().shard_most_away(), ": ", most,
                                            " replicas were away at the same time"));
  }
  // Does the watch see it when both are away?
  status = fleet.RestartUnasked(1, kServers, SIGTERM, std::chrono::milliseconds(0));
  if (!status.ok()) return status;
  figures.push_back(
      absl::StrFormat("FIGURE regions_most_away_unasked %d replicas", fleet.map_log().most_away()));
  return absl::OkStatus();
}

// All servers of one region go at once, and primaries have left before.
class Maintenance {
 public:
  explicit Maintenance(const Flags& flags)
      : flags_(flags),
        fleet_({.folder = absl::StrCat(flags.folder, "/rollout-maintenance"),
                .restarts = absl::StrCat(flags.folder, "/maintenance-restarts.txt"),
                .servers = kServers}) {}

  absl::Status Run(std::vector<std::string>& figures) {
    v1::AppSpec spec = Spec(kShards, /*most_away=*/"10%");
    spec.mutable_drain()->set_prepare_ms(kNotice / Milliseconds(1));
    if (absl::Status s = fleet_.SetUp(spec); !s.ok()) return s;
    UpgradeLoad load({.discovery = fleet_.cluster().discovery_endpoint(),
                      .clients = flags_.clients,
                      .shards = kShards,
                      .samples = absl::StrCat(flags_.folder, "/maintenance.txt")});
    if (absl::Status s = fleet_.Rest(); !s.ok()) return s;
    load.Take();
    if (absl::Status s = Prepare(figures); !s.ok()) return s;
    if (absl::Status s = fleet_.TakeDown(kRegion, kLength); !s.ok()) return s;
    const UpgradeLoad::Totals totals = load.Take();
    const double bad = static_cast<double>(totals.failed + totals.retried);
    std::printf("maintenance: %d calls, %d failed, %d attempts repeated\n",
                static_cast<int>(totals.calls), static_cast<int>(totals.failed),
                static_cast<int>(totals.retried));
    figures.push_back(absl::StrFormat("FIGURE maintenance_success_pct %.4f %%",
                                      100 * (1 - bad / static_cast<double>(totals.calls))));
    if (totals.wrong + totals.backward > 0) {
      return absl::DataLossError("a request was lost, processed twice or out of order");
    }
    return fleet_.AwaitBalance();
  }

  std::string Logs() const { return fleet_.Logs(); }

 private:
  static constexpr int kServers = 12;
  static constexpr int kShards = 600;
  static constexpr char kRegion[] = "west";
  static constexpr Duration kNotice = Seconds(20);
  static constexpr Duration kLength = Seconds(10);

  // Gives notice, and returns when the maintenance begins.
  absl::Status Prepare(std::vector<std::string>& figures) {
    const size_t before = fleet_.PrimariesIn(kRegion);
    v1::Maintenance notice;
    notice.set_id("datacenter");
    notice.mutable_scope()->mutable_domain()->set_region(kRegion);
    notice.set_impact(v1::RUNTIME_STATE_LOSS);
    notice.set_start_ms(WallMilliseconds() + kNotice / Milliseconds(1));
    notice.set_end_ms(notice.start_ms() + kLength / Milliseconds(1));
    const TimePoint begins = MonotonicNow() + kNotice;
    if (absl::Status s = fleet_.cluster().admin().AddMaintenance(notice); !s.ok()) return s;
    std::optional<TimePoint> ready;
    const absl::Status s = fleet_.RunUntil("the begin", [&] {
      if (!ready && fleet_.PrimariesIn(kRegion) == 0) ready = MonotonicNow();
      return MonotonicNow() >= begins;
    });
    if (!s.ok()) return s;
    const size_t left = fleet_.PrimariesIn(kRegion);
    std::printf("maintenance: %d primaries were there, %d when it began\n",
                static_cast<int>(before), static_cast<int>(left));
    figures.push_back(absl::StrFormat("FIGURE maintenance_primaries_left %d primaries", left));
    if (ready) {
      figures.push_back(
          absl::StrFormat("FIGURE maintenance_ready_s %.1f s", InSeconds(begins - *ready)));
    }
    return absl::OkStatus();
  }

  const Flags flags_;
  Fleet fleet_;
};

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App cli("Two cluster managers restart all servers under load, in three ways.");
  cli.add_option("--servers", flags.servers, "In both regions together")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  cli.add_option("--shards", flags.shards)->check(CLI::PositiveNumber)->capture_default_str();
  cli.add_option("--batch-percent", flags.batch_percent, "Most servers that are away at a time")
      ->check(CLI::Range(1, 50))
      ->capture_default_str();
  cli.add_option("--clients", flags.clients)->check(CLI::PositiveNumber)->capture_default_str();
  cli.add_option("--only", flags.only)
      ->check(CLI::IsMember({"graceful", "no_task_control", "rude", "regions", "maintenance"}));
  cli.add_option("--folder", flags.folder, "Data, logs and samples; kept")->capture_default_str();
  CLI11_PARSE(cli, argc, argv);
  std::vector<std::string> figures;
  int exit_code = 0;
  const auto note = [&](const char* name, const absl::Status& status) {
    if (status.ok()) return;
    std::cerr << "error: " << name << ": " << status << "\n";
    exit_code = 1;
  };
  for (const Way& way : kWays) {
    if (!flags.Wants(way.name)) continue;
    Rollout rollout(flags, way);
    const absl::Status status = rollout.Run(figures);
    if (!status.ok()) std::cerr << rollout.Logs();
    note(way.name, status);
  }
  if (flags.Wants("regions")) note("regions", RunRegions(flags, figures));
  if (flags.Wants("maintenance")) {
    Maintenance maintenance(flags);
    const absl::Status status = maintenance.Run(figures);
    if (!status.ok()) std::cerr << maintenance.Logs();
    note("maintenance", status);
  }
  for (const std::string& figure : figures) std::printf("%s\n", figure.c_str());
  return exit_code;
}

}  // namespace
}  // namespace shardmanager

int main(int argc, char** argv) { return shardmanager::Main(argc, argv); }
