// How long do requests wait while a shard with its data goes to another server? And is
// anything lost if a server dies meanwhile? scripts/bench transfer [--bytes N] [--kills N]
//
// Two kvstore processes with local disks, one shard, clients that write it all the time. The
// shard goes back and forth (shardctl drain), each time to a disk from which it was removed.
//   transfer_cutover_hold_ms   the longest that a request took that the new owner was the first
//                              to answer: it was held at the old one, or sent on by it
//   transfer_mb_per_s          from the drain to the map that names the new owner
// With --kills N: N moves, in each of which the old owner, the new one or both are killed
// (SIGKILL) at a random moment and started again. After each, every row is read: it must have the
// last value that was acknowledged (or one that was in doubt since).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/random.h"
#include "base/time.h"
#include "runtime/child_process.h"
#include "tests/local_cluster/cluster.h"
#include "transfer_load.h"

namespace shardmanager {
namespace {

using local::Cluster;
using local::MapView;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{300};

struct Flags {
  uint64_t bytes = 1'000'000'000;
  uint64_t value_bytes = 16'384;
  uint64_t rate = 0;
  int moves = 3;
  int kills = 0;
  int clients = 4;
  double writes_per_s = 300;
  uint64_t seed = 1;
  std::string folder = "build/transfer";
};

class Bench {
 public:
  explicit Bench(const Flags& flags) : flags_(flags), random_(flags.seed) {}

  absl::Status SetUp() {
    std::filesystem::remove_all(flags_.folder);  // of the run before
    std::filesystem::create_directories(flags_.folder);
    auto cluster = Cluster::Make({.folder = flags_.folder});
    if (!cluster.ok()) return cluster.status();
    cluster_ = *std::move(cluster);
    if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
    if (absl::Status s = StartServer(0, true); !s.ok()) return s;
    v1::AppSpec spec;
    spec.set_name("kv");
    spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
    spec.mutable_moves()->set_balance_interval_ms(500);
    v1::Shard* shard = spec.mutable_key_space()->add_shards();
    shard->set_id("rows");
    shard->mutable_range();                         // all keys
    spec.mutable_failover()->set_delay_ms(60'000);  // a server that comes back has the data
    if (absl::Status s = cluster_->admin().Apply(spec).status(); !s.ok()) return s;
    map_ = cluster_->WatchMap();
    if (absl::Status s = AwaitServedBy(""); !s.ok()) return s;
    if (absl::Status s = StartServer(1, false); !s.ok()) return s;
    load_ = std::make_unique<TransferLoad>(
        TransferLoad::Options{.discovery = cluster_->discovery_endpoint(),
                              .rows = flags_.bytes / flags_.value_bytes,
                              .value_bytes = flags_.value_bytes,
                              .clients = flags_.clients,
                              .writes_per_s = flags_.writes_per_s,
                              .seed = flags_.seed});
    const Clock::time_point begin = Clock::now();
    if (absl::Status s = load_->Fill(); !s.ok()) return s;
    std::printf("%d rows of %d bytes written in %.1f s\n",
                static_cast<int>(flags_.bytes / flags_.value_bytes),
                static_cast<int>(flags_.value_bytes), InSeconds(Clock::now() - begin));
    std::fflush(stdout);
    load_->Start();
    return absl::OkStatus();
  }

  absl::Status Measure() {
    double worst_ms = 0, best = 0;
    for (int i = 0; i < flags_.moves; ++i) {
      const int from = i % 2;
      // The copy that it gave away before is none to go on from: a whole gigabyte goes.
      if (i > 0) {
        if (absl::Status s = ForgetCopyOf(1 - from); !s.ok()) return s;
      }
      (void)load_->Take();
      const Clock::time_point begin = Clock::now();
      if (absl::Status s = Move(from); !s.ok()) return s;
      const double seconds = InSeconds(Clock::now() - begin);
      std::this_thread::sleep_for(std::chrono::seconds(1));  // each client meets the new owner
      const TransferLoad::Felt felt = load_->Take();
      std::printf(
          "move %d: %.1f s, %.0f MB/s; %d writes, %d failed, the longest took %.1f ms, the "
          "longest of the cutover %.1f ms\n",
          i + 1, seconds, static_cast<double>(flags_.bytes) / 1e6 / seconds,
          static_cast<int>(felt.writes), static_cast<int>(felt.failed), felt.longest_ms,
          felt.cutover_ms);
      std::fflush(stdout);
      worst_ms = std::max(worst_ms, felt.cutover_ms);
      best = std::max(best, static_cast<double>(flags_.bytes) / 1e6 / seconds);
    }
    load_->Stop();
    if (const std::string wrong = load_->Check(); !wrong.empty()) return absl::DataLossError(wrong);
    std::printf("FIGURE transfer_cutover_hold_ms %.1f ms\n", worst_ms);
    std::printf("FIGURE transfer_mb_per_s %.0f MB/s\n", best);
    return absl::OkStatus();
  }

  absl::Status KillOften() {
    const Clock::time_point begin = Clock::now();
    Clock::duration move = std::chrono::seconds(3);  // how long one takes, about
    int owner = 0, moved = 0;
    uint64_t writes = 0, failed = 0;
    for (int i = 0; i < flags_.kills; ++i) {
      const Clock::time_point start = Clock::now();
      if (absl::Status s = Shardctl("drain", owner); !s.ok()) return s;
      const auto wait = std::chrono::microseconds(
          static_cast<int64_t>(random_.Fraction() * 1.2e6 * InSeconds(move)));
      std::this_thread::sleep_for(wait);
      const uint64_t victims = 1 + random_.Below(3);  // the old owner, the new one, both
      for (int v = 0; v < 2; ++v) {
        if ((victims & (1u << v)) != 0) cluster_->server(Name(v == 0 ? owner : 1 - owner)).Kill();
      }
      for (int v = 0; v < 2; ++v) {
        const std::string name = Name(v == 0 ? owner : 1 - owner);
        if ((victims & (1u << v)) == 0) continue;
        if (absl::Status s = cluster_->RestartServer(name); !s.ok()) return s;
      }
      if (absl::Status s = AwaitServedBy(Name(1 - owner)); !s.ok()) return s;
      if (absl::Status s = Shardctl("undrain", owner); !s.ok()) return s;
      load_->Stop();
      if (const std::string wrong = load_->Check(); !wrong.empty()) {
        return absl::DataLossError(absl::StrCat("after kill ", i + 1, ": ", wrong));
      }
      const TransferLoad::Felt felt = load_->Take();
      writes += felt.writes;
      failed += felt.failed;
      load_->Start();
      ++moved;
      constexpr const char* kWho[] = {"", "the old owner", "the new owner", "both"};
      std::printf("kill %d: %s, %.2f s after the drain; moved after %.1f s; all rows are right\n",
                  i + 1, kWho[victims], InSeconds(wait), InSeconds(Clock::now() - start));
      std::fflush(stdout);
      owner = 1 - owner;
    }
    std::printf("%d moves with kills in %.0f s; %d writes, %d without an answer\n", moved,
                InSeconds(Clock::now() - begin), static_cast<int>(writes),
                static_cast<int>(failed));
    std::printf("FIGURE transfer_kills_survived %d kills\n", moved);
    return absl::OkStatus();
  }

  std::string Logs() const { return cluster_ ? cluster_->Logs(25) : ""; }

 private:
  static std::string Name(int i) { return absl::StrCat("kv-", i + 1); }

  absl::Status StartServer(int i, bool first) {
    local::ServerOptions options{.name = Name(i),
                                 .rack = Name(i),
                                 .program = {cluster_->Bin("kvstore"), "--storage", "local",
                                             "--transfer-rate", absl::StrCat(flags_.rate)},
                                 // A fixed one: the other finds it again after a restart.
                                 .listen = absl::StrCat("127.0.0.1:", FreePort())};
    if (first) options.program.push_back("--make-new-shards");
    return cluster_->StartServer(std::move(options));
  }

  absl::Status Shardctl(const std::string& verb, int server) {
    const auto result = cluster_->Shardctl({verb, "server", Name(server)});
    return result.exit_code == 0 ? absl::OkStatus() : absl::InternalError(result.output);
  }

  // "": by anybody.
  absl::Status AwaitServedBy(const std::string& name) {
    const auto wanted = [&](const MapView& view) {
      return view.all_served() && (name.empty() || view.counts().contains(name));
    };
    if (map_->WaitFor(wanted, kPatience)) return absl::OkStatus();
    return absl::DeadlineExceededError(
        absl::StrCat("not served by ", name, ": ", map_->view().Describe(), "\n",
                     cluster_->Shardctl({"get", "shards", "--app", "kv"}).output));
  }

  absl::Status Move(int from) {
    if (absl::Status s = Shardctl("drain", from); !s.ok()) return s;
    if (absl::Status s = AwaitServedBy(Name(1 - from)); !s.ok()) return s;
    return Shardctl("undrain", from);
  }

  // As after a new disk.
  absl::Status ForgetCopyOf(int server) {
    cluster_->server(Name(server)).Stop();
    std::filesystem::remove_all(cluster_->data_folder() + "/" + Name(server));
    return cluster_->RestartServer(Name(server));
  }

  const Flags flags_;
  Random random_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<local::MapWatcher> map_;
  std::unique_ptr<TransferLoad> load_;
};

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App cli("Moves a shard with its data, under writes.");
  cli.add_option("--bytes", flags.bytes, "Of the shard")->capture_default_str();
  cli.add_option("--value-bytes", flags.value_bytes, "Of one row")
      ->check(CLI::Range(24, 1 << 20))
      ->capture_default_str();
  cli.add_option("--rate", flags.rate, "Bytes a second; 0: no limit")->capture_default_str();
  cli.add_option("--moves", flags.moves)->capture_default_str();
  cli.add_option("--kills", flags.kills, "Kill servers in so many moves")->capture_default_str();
  cli.add_option("--clients", flags.clients)->check(CLI::PositiveNumber)->capture_default_str();
  cli.add_option("--writes-per-s", flags.writes_per_s, "Of all clients")->capture_default_str();
  cli.add_option("--seed", flags.seed)->capture_default_str();
  cli.add_option("--folder", flags.folder, "Data and logs; kept")->capture_default_str();
  CLI11_PARSE(cli, argc, argv);
  Bench bench(flags);
  absl::Status status = bench.SetUp();
  if (status.ok()) status = flags.kills > 0 ? bench.KillOften() : bench.Measure();
  if (status.ok()) return 0;
  std::cerr << bench.Logs() << "error: " << status << "\n";
  return 1;
}

}  // namespace
}  // namespace shardmanager

int main(int argc, char** argv) { return shardmanager::Main(argc, argv); }
