// scripts/bench flood: one client asks the control plane as much as it can, with calls that it may
// make. Servers are drained meanwhile: what do the commands to servers, and the calls of other
// clients, take? Beside it, in turns: nobody floods; the same flood goes to a relay that nobody
// uses, and so takes only the machine's time.
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "handover_bench.h"
#include "quantile.h"
#include "runtime/clock.h"
#include "runtime/logging.h"
#include "security/cell_certificates.h"
#include "shardmanager/v1/admin.grpc.pb.h"
#include "shardmanager/v1/discovery.grpc.pb.h"
#include "steady_load.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager {
namespace {

using local::Cluster;
using local::MapView;

constexpr std::chrono::seconds kPatience{60};
constexpr int kServers = 3;
const std::string kApp = "counter";

struct Flags {
  std::string folder = "build/flood";
  int shards = 60;
  int rounds = 8;
  int threads = 8;
  int calls_per_s = 200;
};

// What one client makes of an endpoint, until its end. Half of the threads call, the other half
// open streams and leave them open as long as they can.
class Flood {
 public:
  struct Counts {
    std::atomic<uint64_t> calls = 0;
    std::atomic<uint64_t> streams = 0;
    std::atomic<uint64_t> refused = 0;
  };

  Flood(const wire::Transport& transport, const std::string& endpoint, int threads) {
    for (int i = 0; i < threads; ++i) {
      grpc::ChannelArguments own;
      own.SetInt("sm.flood", i);  // a connection for each thread
      auto channel = transport.Open(
          endpoint, {.kinds = {security::Kind::kControlPlane, security::Kind::kRelay}}, own);
      threads_.emplace_back([this, i, channel](const std::stop_token& stop) {
        i % 2 == 0 ? Call(channel, stop) : Watch(channel, stop);
      });
    }
  }
  const Counts& counts() const { return counts_; }

 private:
  void Count(const grpc::Status& status, std::atomic<uint64_t>& of) {
    ++of;
    if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) ++counts_.refused;
  }
  void Call(const std::shared_ptr<grpc::Channel>& channel, const std::stop_token& stop) {
    const auto stub = v1::Admin::NewStub(channel);
    while (!stop.stop_requested()) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
      v1::GetShardsRequest request;
      request.set_app(kApp);
      v1::GetShardsResponse response;
      Count(stub->GetShards(&context, request, &response), counts_.calls);
    }
  }
  void Watch(const std::shared_ptr<grpc::Channel>& channel, const std::stop_token& stop) {
    struct Stream {
      grpc::ClientContext context;
      std::unique_ptr<grpc::ClientReader<v1::WatchResponse>> reader;
    };
    const auto stub = v1::Discovery::NewStub(channel);
    std::vector<std::unique_ptr<Stream>> open;
    const auto close = [](Stream& stream) {
      stream.context.TryCancel();
      return stream.reader->Finish();
    };
    while (!stop.stop_requested()) {
      auto stream = std::make_unique<Stream>();
      v1::WatchRequest request;
      request.set_app(kApp);
      stream->reader = stub->Watch(&stream->context, request);
      v1::WatchResponse first;
      if (stream->reader->Read(&first)) {
        open.push_back(std::move(stream));
        ++counts_.streams;
      } else {
        Count(close(*stream), counts_.streams);
      }
      if (open.size() < kMostOpen) continue;
      for (const auto& one : open) close(*one);
      open.clear();
    }
    for (const auto& one : open) close(*one);
  }

  // Of one thread; then it begins anew.
  static constexpr size_t kMostOpen = 3'000;
  Counts counts_;
  std::vector<std::jthread> threads_;
};

// What was seen in one of the three situations.
struct Seen {
  std::vector<Duration> drains;
  std::vector<Duration> calls;
  uint64_t failed = 0;
  uint64_t flood_calls = 0;
  uint64_t flood_streams = 0;
  uint64_t refused = 0;
};

class Bench {
 public:
  explicit Bench(const Flags& flags) : flags_(flags), certs_(flags.folder + "/certificates") {}

  absl::Status SetUp() {
    std::filesystem::remove_all(flags_.folder);  // of the run before; nothing else
    std::filesystem::create_directories(flags_.folder);
    auto cluster = Cluster::Make({.folder = flags_.folder,
                                  .app = kApp,
                                  .insecure = true,  // until there are certificates
                                  .session_timeout_ms = 10'000,
                                  .relays = 2});
    if (!cluster.ok()) return cluster.status();
    cluster_ = *std::move(cluster);
    if (absl::Status s = Secure(); !s.ok()) return s;
    if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
    if (absl::Status s = cluster_->admin().Apply(Spec()).status(); !s.ok()) return s;
    if (absl::Status s = Shardctl(*cluster_, {"grant", "operator/flood", "viewer"}); !s.ok())
      return s;
    for (int i = 1; i <= kServers; ++i) {
      absl::Status s = cluster_->StartServer({.name = absl::StrCat("counter-", i),
                                              .rack = absl::StrCat("rack-", i),
                                              .program = {cluster_->Bin("counter")}});
      if (!s.ok()) return s;
    }
    auto flood = wire::Transport::Make({.certs = certs_.Of("operator/flood")}, "",
                                       {{.kinds = {security::Kind::kOperator}}});
    if (!flood.ok()) return flood.status();
    flood_ = *std::move(flood);
    map_ = cluster_->WatchMap();
    return AwaitServers(kServers);
  }

  // One drain. `flooded`: where, or "".
  absl::Status Round(const std::string& flooded, Seen& seen) {
    std::this_thread::sleep_for(kUntilItMayMove);
    std::unique_ptr<Flood> flood;
    if (!flooded.empty()) flood = std::make_unique<Flood>(*flood_, flooded, flags_.threads);
    SteadyLoad load({.discovery = cluster_->discovery_endpoint(),
                     .security = {.certs = certs_.Of("client/" + kApp + "/bench")},
                     .calls_per_s = flags_.calls_per_s});
    std::this_thread::sleep_for(std::chrono::seconds(3));  // the burst that is allowed is over
    v1::DrainScope scope;
    scope.set_server(absl::StrCat("counter-", 1 + rounds_++ % kServers));
    const TimePoint begin = MonotonicNow();
    if (absl::Status s = cluster_->admin().Drain(kApp, scope); !s.ok()) return s;
    if (absl::Status s = AwaitServers(kServers - 1); !s.ok()) return s;
    seen.drains.push_back(MonotonicNow() - begin);
    const SteadyLoad::Totals totals = load.Stop();
    for (const SteadyLoad::Call& call : totals.calls) seen.calls.push_back(call.took);
    seen.failed += totals.failed + totals.wrong;
    if (flood != nullptr) {
      const Flood::Counts& counts = flood->counts();
      seen.flood_calls += counts.calls;
      seen.flood_streams += counts.streams;
      seen.refused += counts.refused;
      flood.reset();
    }
    if (absl::Status s = cluster_->admin().Undrain(kApp, scope); !s.ok()) return s;
    return AwaitServers(kServers);
  }

  std::string leader() const { return cluster_->admin_endpoint(); }
  std::string unused_relay() const { return cluster_->discovery_endpoint(1); }
  std::string Logs() const { return cluster_ ? cluster_->Logs(10) : ""; }

 private:
  v1::AppSpec Spec() const {
    v1::AppSpec spec;
    spec.set_name(kApp);
    spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
    for (int shard = 1; shard < flags_.shards; ++shard) {
      spec.mutable_key_space()->add_split_points(absl::StrFormat("key-%02d", shard));
    }
    spec.mutable_moves()->set_max_concurrent(1'000);
    spec.mutable_moves()->set_max_concurrent_per_server(1'000);
    spec.mutable_moves()->set_balance_interval_ms(1'000);
    return spec;
  }
  absl::Status Secure() {
    std::vector<std::string> identities = {"control-plane/shardmanagerd",
                                           "relay/shard-discoveryd",
                                           "relay/shard-discoveryd-2",
                                           "admin/test",
                                           "operator/flood",
                                           absl::StrCat("client/", kApp, "/bench")};
    for (int i = 1; i <= kServers; ++i) {
      identities.push_back(absl::StrCat("server/", kApp, "/counter-", i));
    }
    if (absl::Status s = certs_.Make(*cluster_, identities); !s.ok()) return s;
    return cluster_->security().Change(
        [this](const std::string& who) {
          return std::vector<std::string>{"--certs", certs_.Of(who)};
        },
        {.certs = certs_.Of("admin/test")});
  }
  // Until so many serve all shards between them.
  absl::Status AwaitServers(size_t servers) {
    const auto spread = [servers](const MapView& v) {
      return v.all_served() && v.counts().size() == servers;
    };
    if (map_->WaitFor(spread, kPatience)) return absl::OkStatus();
    return absl::DeadlineExceededError(map_->view().Describe());
  }

  const Flags flags_;
  const CellCertificates certs_;
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<local::MapWatcher> map_;
  std::shared_ptr<const wire::Transport> flood_;
  int rounds_ = 0;
};

void Print(const std::string& name, const Seen& seen) {
  std::printf(
      "%s: %zu drains, %zu calls of other clients, %zu failed or wrong; the flood: %zu "
      "calls, %zu streams, of which %zu refused\n",
      name.c_str(), seen.drains.size(), seen.calls.size(), size_t{seen.failed},
      size_t{seen.flood_calls}, size_t{seen.flood_streams}, size_t{seen.refused});
  std::printf(
      "FIGURE flood_drain_%s_p50_ms %.1f ms\nFIGURE flood_drain_%s_longest_ms %.1f ms\n"
      "FIGURE flood_calls_%s_p99_ms %.2f ms\nFIGURE flood_calls_%s_failed %zu calls\n",
      name.c_str(), Ms(Quantile(seen.drains, 0.5)), name.c_str(), Ms(Quantile(seen.drains, 1)),
      name.c_str(), Ms(Quantile(seen.calls, 0.99)), name.c_str(), size_t{seen.failed});
}

int Run(const Flags& flags) {
  Bench bench(flags);
  const auto fail = [&](const absl::Status& status) {
    std::fprintf(stderr, "error: %s\n%s\n", std::string(status.message()).c_str(),
                 bench.Logs().c_str());
    return 1;
  };
  if (absl::Status s = bench.SetUp(); !s.ok()) return fail(s);
  const std::vector<std::pair<std::string, std::string>> situations = {
      {"quiet", ""}, {"elsewhere", bench.unused_relay()}, {"flooded", bench.leader()}};
  std::map<std::string, Seen> seen;
  for (int round = 0; round < flags.rounds; ++round) {
    for (const auto& [name, flooded] : situations) {
      if (absl::Status s = bench.Round(flooded, seen[name]); !s.ok()) return fail(s);
    }
    std::printf("%d of %d rounds\n", round + 1, flags.rounds);
    std::fflush(stdout);
  }
  for (const auto& [name, flooded] : situations) Print(name, seen[name]);
  return 0;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App cli("Servers are drained while one client floods the control plane.");
  cli.add_option("--folder", flags.folder, "Data and logs")->capture_default_str();
  cli.add_option("--shards", flags.shards, "1 to 99")->capture_default_str();
  cli.add_option("--rounds", flags.rounds, "Drains in each of the three situations")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cli.add_option("--threads", flags.threads, "Of the flood, each with a connection")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cli.add_option("--calls", flags.calls_per_s, "Calls a second of the other clients")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(cli, argc, argv);
  if (absl::Status s = InitLogging("bench_flood", {.level = "error"}); !s.ok()) return 1;
  return Run(flags);
}

}  // namespace
}  // namespace shardmanager

int main(int argc, char** argv) { return shardmanager::Main(argc, argv); }
