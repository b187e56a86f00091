// How long are shards unserved when a server dies? scripts/bench failover
//
// 20 server processes hold 20,000 shards; one, which holds 1,000, is killed with
// SIGKILL, several times over. Two spans, because different things decide them:
//   detection  from the kill until the control plane knows (its event ServerLost):
//              the session time-out and up to one tick of ZooKeeper
//   repair     from then until a subscriber of the discovery relay has a map in which
//              every shard is served by a living server: ours alone
//
// The servers are real processes with the real server library and gRPC, but their
// AddShard does nothing: what an application does there (kvstore opens a database)
// is its own time, not the Shard Manager's.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "own_servers.h"
#include "quantile.h"
#include "runtime/clock.h"
#include "shardmanager/server.h"
#include "tests/local_cluster/cluster.h"
#include "tests/local_cluster/server_flags.h"

namespace shardmanager {
namespace {

using local::Cluster;
using local::MapView;

constexpr std::chrono::seconds kPatience{120};

struct Flags {
  int servers = 20;
  int shards = 20'000;
  int rounds = 5;
  int session_timeout_ms = 2'000;
  std::string folder;
  bool insecure = false;
};

class EmptyHandler : public ShardHandler {
 public:
  absl::Status AddShard(const ShardGrant&, const LoadProgress&) override {
    return absl::OkStatus();
  }
  absl::Status DropShard(const ShardId&) override { return absl::OkStatus(); }
};

// One of the servers.
int Serve(int argc, char** argv) {
  ServerOptions options;
  std::string unused;
  CLI::App cli("A server whose shards hold nothing.");
  local::AddServerFlags(cli, options, unused);
  CLI11_PARSE(cli, argc, argv);
  EmptyHandler handler;
  Server server(options);
  const absl::Status status = server.Run(handler, {});
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}

v1::AppSpec Spec(const Flags& flags) {
  v1::AppSpec spec;
  spec.set_name("kv");
  spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  for (int shard = 1; shard < flags.shards; ++shard) {
    spec.mutable_key_space()->add_split_points(absl::StrFormat("%06d", shard));
  }
  // So that a restarted server soon has its share again.
  spec.mutable_moves()->set_max_concurrent(1'000);
  spec.mutable_moves()->set_max_concurrent_per_server(1'000);
  spec.mutable_moves()->set_balance_interval_ms(500);
  return spec;
}

struct Round {
  double detection_ms;
  double repair_ms;
  size_t shards;
};

class Bench {
 public:
  explicit Bench(const Flags& flags) : flags_(flags) {}

  absl::Status SetUp() {
    auto cluster = Cluster::Make({.folder = flags_.folder,
                                  .insecure = flags_.insecure,
                                  .session_timeout_ms = flags_.session_timeout_ms});
    if (!cluster.ok()) return cluster.status();
    cluster_ = *std::move(cluster);
    if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
    if (absl::Status s = StartOwnServers(*cluster_, flags_.servers); !s.ok()) return s;
    if (absl::Status s = cluster_->admin().Apply(Spec(flags_)).status(); !s.ok()) return s;
    map_ = cluster_->WatchMap();
    events_ = cluster_->WatchEvents();
    return AwaitBalance();
  }

  absl::StatusOr<Round> Kill(const std::string& server) {
    const size_t shards = map_->view().counts()[server];
    const TimePoint killed = MonotonicNow();
    cluster_->server(server).Kill();
    const auto lost = events_->WaitFor("ServerLost", server, killed, kPatience);
    if (!lost) return absl::DeadlineExceededError("the loss was not noticed");
    MapView view;
    auto repaired = [&](const MapView& v) {
      return v.all_served() && !v.counts().contains(server);
    };
    if (!map_->WaitFor(repaired, kPatience, &view)) {
      return absl::DeadlineExceededError(map_->view().Describe());
    }
    return Round{Ms(lost->seen - killed), Ms(view.changed - lost->seen), shards};
  }

  absl::Status Restart(const std::string& server) {
    if (absl::Status s = cluster_->RestartServer(server); !s.ok()) return s;
    return AwaitBalance();
  }

  std::string Logs() const { return cluster_ ? cluster_->Logs(10) : ""; }

 private:
  absl::Status AwaitBalance() {
    const auto servers = static_cast<size_t>(flags_.servers);
    if (map_->WaitFor([=](const MapView& v) { return v.balanced(servers); }, kPatience)) {
      return absl::OkStatus();
    }
    return absl::DeadlineExceededError(map_->view().Describe());
  }

  const Flags flags_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<local::MapWatcher> map_;
  std::unique_ptr<local::EventWatcher> events_;
};

absl::StatusOr<std::vector<Round>> Measure(Bench& bench, const Flags& flags) {
  if (absl::Status s = bench.SetUp(); !s.ok()) return s;
  std::vector<Round> rounds;
  for (int i = 0; i < flags.rounds; ++i) {
    const std::string server = absl::StrCat("server-", 1 + i % flags.servers);
    auto round = bench.Kill(server);
    if (!round.ok()) return round.status();
    std::printf("%s with %zu shards killed: detected after %.0f ms, repaired in %.0f ms\n",
                server.c_str(), round->shards, round->detection_ms, round->repair_ms);
    std::fflush(stdout);
    rounds.push_back(*round);
    if (i + 1 == flags.rounds) break;
    if (absl::Status s = bench.Restart(server); !s.ok()) return s;
  }
  return rounds;
}

double Median(const std::vector<Round>& rounds, double Round::*span) {
  std::vector<double> values;
  for (const Round& round : rounds) values.push_back(round.*span);
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

bool Run(const Flags& flags) {
  Bench bench(flags);
  const auto rounds = Measure(bench, flags);
  if (!rounds.ok()) {
    std::cerr << bench.Logs() << "error: " << rounds.status() << "\n";
    return false;
  }
  const char* how = flags.insecure ? "insecure_" : "";
  std::printf("FIGURE %sfailover_detection_ms %.0f ms\n", how,
              Median(*rounds, &Round::detection_ms));
  std::printf("FIGURE %sfailover_repair_ms %.0f ms\n", how, Median(*rounds, &Round::repair_ms));
  return true;
}

int Main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "serve") return Serve(argc - 1, argv + 1);
  Flags flags;
  CLI::App cli("Kills servers and measures how long their shards are unserved.");
  cli.add_option("--servers", flags.servers)->capture_default_str();
  cli.add_option("--shards", flags.shards)->capture_default_str();
  cli.add_option("--rounds", flags.rounds)->check(CLI::PositiveNumber)->capture_default_str();
  cli.add_option("--session-timeout-ms", flags.session_timeout_ms)->capture_default_str();
  cli.add_option("--folder", flags.folder, "Data and logs; kept. Default: a temporary one");
  bool both = false;
  cli.add_flag("--both", both, "Once without TLS, too: figures that begin with insecure_");
  CLI11_PARSE(cli, argc, argv);
  for (const bool insecure : {true, false}) {
    if (insecure && !both) continue;
    flags.insecure = insecure;
    if (!Run(flags)) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace shardmanager

int main(int argc, char** argv) { return shardmanager::Main(argc, argv); }
