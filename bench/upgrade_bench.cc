// What do clients notice of a rolling upgrade? scripts/bench upgrade
//
// After the paper's Figure 17: 10,000 shards on 60 server processes, all of which are
// restarted, at most 10% at a time, under closed-loop clients; four times:
//   graceful      each batch is drained (shardctl drain) before it is stopped, and a primary
//                 is handed over
//   no_handover   the same, but a primary is dropped before it is added elsewhere
//   neither       each batch is stopped as it is
//   loaded        as graceful, on a busy machine whose ZooKeeper stops now and then
//
// With --mixed every second server uses gRPC's callback API, and every second client sends streams:
// scripts/bench upgrade --only graceful --mixed --servers 20 --shards 1000
//
// A request succeeds, for the figures, if its first attempt was answered: the paper's clients
// did not try again. The router does, within 5 s: what failed even so is told apart. Each
// client knows what the next count of its keys must be, so that a request which is lost,
// processed twice or out of order is noticed.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/local_cluster/cluster.h"
#include "upgrade_load.h"
#include "upgrade_trouble.h"

namespace shardmanager {
namespace {

using local::Cluster;
using local::MapView;

constexpr std::chrono::seconds kPatience{180};

struct Flags {
  int servers = 60;
  int shards = 10'000;
  int batch_percent = 10;
  int clients = 4;
  bool mixed = false;
  bool must_succeed = false;
  std::string only;
  std::string folder = "build/upgrade";
};

struct Way {
  const char* name;
  bool drains;
  v1::PrimaryMove move;
  bool trouble = false;  // UpgradeTrouble
};
constexpr Way kWays[] = {{"graceful", true, v1::HANDOVER},
                         {"no_handover", true, v1::DROP_THEN_ADD},
                         {"neither", false, v1::DROP_THEN_ADD},
                         {"loaded", true, v1::HANDOVER, /*trouble=*/true}};

v1::AppSpec Spec(const Flags& flags, const Way& way) {
  v1::AppSpec spec;
  spec.set_name("counter");
  spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  for (int shard = 1; shard < flags.shards; ++shard) {
    spec.mutable_key_space()->add_split_points(absl::StrFormat("%06d", shard));
  }
  spec.mutable_failover()->set_delay_ms(0);
  spec.mutable_moves()->set_primary_move(way.move);
  spec.mutable_moves()->set_max_concurrent(2'000);
  spec.mutable_moves()->set_max_concurrent_per_server(500);
  spec.mutable_moves()->set_balance_interval_ms(500);
  return spec;
}

absl::Status TimedOut(const std::string& what, const MapView& view) {
  return absl::DeadlineExceededError(absl::StrCat(what, ": ", view.Describe()));
}

class Upgrade {
 public:
  Upgrade(const Flags& flags, const Way& way) : flags_(flags), way_(way) {}

  absl::Status SetUp() {
    std::filesystem::remove_all(folder());  // of the run before; nothing else
    std::filesystem::create_directories(folder());
    auto cluster = Cluster::Make({.folder = folder(), .app = "counter"});
    if (!cluster.ok()) return cluster.status();
    cluster_ = *std::move(cluster);
    std::filesystem::create_directories(cluster_->data_folder());
    if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
    if (absl::Status s = cluster_->admin().Apply(Spec(flags_, way_)).status(); !s.ok()) return s;
    for (int i = 1; i <= flags_.servers; ++i) {
      std::vector<std::string> program = {cluster_->Bin("counter")};
      if (flags_.mixed && i % 2 == 0) program.emplace_back("--callback");
      absl::Status s =
          cluster_->StartServer({.name = Name(i), .rack = Name(i), .program = program});
      if (!s.ok()) return s;
    }
    map_ = cluster_->WatchMap();
    return AwaitBalance();
  }

  std::string folder() const { return absl::StrCat(flags_.folder, "/upgrade-", way_.name); }
  std::string samples() const { return absl::StrCat(flags_.folder, "/", way_.name, ".txt"); }

  absl::StatusOr<UpgradeLoad::Totals> Run() {
    UpgradeLoad load({.discovery = cluster_->discovery_endpoint(),
                      .clients = flags_.clients,
                      .shards = flags_.shards,
                      .streaming = flags_.mixed ? flags_.clients / 2 : 0,
                      .samples = samples()});
    std::this_thread::sleep_for(std::chrono::seconds(5));  // what it is like in quiet times
    Print("before", load.Take());
    std::optional<UpgradeTrouble> trouble;
    if (way_.trouble) trouble.emplace(cluster_->zookeeper());
    const int batch = std::max(1, flags_.servers * flags_.batch_percent / 100);
    for (int first = 1; first <= flags_.servers; first += batch) {
      if (absl::Status s = Restart(first, std::min(first + batch - 1, flags_.servers)); !s.ok()) {
        return s;
      }
      std::printf("%s: %d of %d servers restarted\n", way_.name,
                  std::min(first + batch - 1, flags_.servers), flags_.servers);
      std::fflush(stdout);
    }
    trouble.reset();
    UpgradeLoad::Totals totals = load.Take();
    Print("during", totals);
    return totals;
  }

  std::string Logs() const { return cluster_ ? cluster_->Logs(3) : ""; }

 private:
  static std::string Name(int i) { return absl::StrCat("counter-", i); }

  absl::Status Restart(int first, int last) {
    if (way_.drains) {
      for (int i = first; i <= last; ++i) {
        if (absl::Status s = Shardctl({"drain", "server", Name(i)}); !s.ok()) return s;
      }
      const auto empty = [&](const MapView& view) {
        const auto counts = view.counts();
        for (int i = first; i <= last; ++i) {
          if (counts.contains(Name(i))) return false;
        }
        return view.all_served();
      };
      if (!map_->WaitFor(empty, kPatience)) return TimedOut("drain", map_->view());
    }
    std::vector<std::thread> stopping;
    for (int i = first; i <= last; ++i) {
      stopping.emplace_back([this, i] { cluster_->server(Name(i)).Stop(); });
    }
    for (std::thread& thread : stopping) thread.join();
    for (int i = first; i <= last; ++i) {
      if (absl::Status s = cluster_->RestartServer(Name(i)); !s.ok()) return s;
      if (!way_.drains) continue;
      if (absl::Status s = Shardctl({"undrain", "server", Name(i)}); !s.ok()) return s;
    }
    return way_.drains ? AwaitBalance() : AwaitServed();
  }

  absl::Status Shardctl(std::vector<std::string> arguments) {
    const auto result = cluster_->Shardctl(std::move(arguments));
    return result.exit_code == 0 ? absl::OkStatus() : absl::InternalError(result.output);
  }

  absl::Status AwaitServed() {
    const auto served = [](const MapView& view) { return view.all_served(); };
    return map_->WaitFor(served, kPatience) ? absl::OkStatus() : TimedOut("serve", map_->view());
  }

  absl::Status AwaitBalance() {
    const auto balanced = [servers = static_cast<size_t>(flags_.servers)](const MapView& view) {
      return view.balanced(servers);
    };
    return map_->WaitFor(balanced, kPatience) ? absl::OkStatus()
                                              : TimedOut("balance", map_->view());
  }

  void Print(const char* when, const UpgradeLoad::Totals& totals) const {
    std::vector<uint32_t> us = totals.latency_us;
    std::sort(us.begin(), us.end());
    const auto ms = [&](double part) {
      if (us.empty()) return 0.0;
      return us[static_cast<size_t>(part * static_cast<double>(us.size() - 1))] / 1e3;
    };
    std::printf(
        "%s, %s: %d calls, %d failed, %d attempts repeated (%d refused, %d lost on the way); %d "
        "streams opened again, %d wrong counts, %d epochs that went back; p50 %.2f ms, p99 %.2f "
        "ms, p99.9 %.2f ms, longest "
        "%.0f ms\n",
        way_.name, when, static_cast<int>(totals.calls), static_cast<int>(totals.failed),
        static_cast<int>(totals.retried), static_cast<int>(totals.refused),
        static_cast<int>(totals.lost), static_cast<int>(totals.reopened),
        static_cast<int>(totals.wrong), static_cast<int>(totals.backward), ms(0.5), ms(0.99),
        ms(0.999), ms(1));
    std::fflush(stdout);
  }

  const Flags flags_;
  const Way way_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<local::MapWatcher> map_;
};

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App cli("Restarts all servers under load, in four ways.");
  cli.add_option("--servers", flags.servers)->check(CLI::PositiveNumber)->capture_default_str();
  cli.add_option("--shards", flags.shards)->check(CLI::PositiveNumber)->capture_default_str();
  cli.add_option("--batch-percent", flags.batch_percent, "Most servers that restart at a time")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  cli.add_option("--clients", flags.clients)->check(CLI::PositiveNumber)->capture_default_str();
  cli.add_flag("--mixed", flags.mixed,
               "Half of the servers use callbacks, half of the clients stream");
  cli.add_flag("--must-succeed", flags.must_succeed, "An attempt that fails is an error");
  cli.add_option("--only", flags.only, "graceful, no_handover, neither or loaded");
  cli.add_option("--folder", flags.folder, "Data, logs and samples; kept")->capture_default_str();
  CLI11_PARSE(cli, argc, argv);
  std::vector<std::string> figures;
  bool wrong = false;
  bool failed = false;
  for (const Way& way : kWays) {
    if (!flags.only.empty() && flags.only != way.name) continue;
    Upgrade upgrade(flags, way);
    absl::Status status = upgrade.SetUp();
    std::optional<UpgradeLoad::Totals> totals;
    if (status.ok()) {
      auto run = upgrade.Run();
      status = run.status();
      if (run.ok()) totals = *std::move(run);
    }
    if (!totals) {
      std::cerr << upgrade.Logs() << "error: " << way.name << ": " << status << "\n";
      return 1;
    }
    const double bad = static_cast<double>(totals->failed + totals->retried);
    figures.push_back(absl::StrFormat("FIGURE upgrade_success_pct_%s %.4f %%", way.name,
                                      100 * (1 - bad / static_cast<double>(totals->calls))));
    wrong = wrong || totals->wrong > 0 || totals->backward > 0;
    failed = failed || totals->failed > 0 || totals->retried > 0;
  }
  for (const std::string& figure : figures) std::printf("%s\n", figure.c_str());
  if (wrong) std::cerr << "error: a request was lost, processed twice or out of order\n";
  if (failed && flags.must_succeed) std::cerr << "error: an attempt has failed\n";
  return wrong || (failed && flags.must_succeed) ? 1 : 0;
}

}  // namespace
}  // namespace shardmanager

int main(int argc, char** argv) { return shardmanager::Main(argc, argv); }
