// What becomes of a server that its clients cannot use although its session lives?
// scripts/bench gray
//
// Ten server processes hold 200 primaries; eight clients, each with a router of its own, call any
// of them one call after another, through a relay. One server after the other hangs, answers
// errors, or becomes 100 times slower, while it heartbeats on:
//   gray_drained_s_<mood>   from then until it holds nothing
//   gray_success_pct_<mood> of all calls, in the ten seconds after that
// The same with two replicas of each shard, of which any may answer:
//   gray_avoided_s_<mood>   from then until clients ask the other one: in the three seconds after
//                           that the server gets two requests a second of each client at the most
// Then the network between 20 other clients and half of the servers is gone, for them:
//   gray_false_drains       servers that are drained for that within two minutes
#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/random.h"
#include "counter.grpc.pb.h"
#include "own_servers.h"
#include "runtime/clock.h"
#include "shardmanager/router.h"
#include "shardmanager/server.h"
#include "shardmanager/v1/discovery.grpc.pb.h"
#include "tests/local_cluster/cluster.h"
#include "tests/local_cluster/server_flags.h"

namespace shardmanager {
namespace {

using local::Cluster;
using local::MapView;

constexpr std::chrono::seconds kPatience{180};
constexpr const char* kMoods[] = {"hangs", "errors", "slow"};

struct Flags {
  int servers = 10;
  int shards = 200;
  int clients = 8;
  int replicas = 1;  // 2: any of them may answer
  std::string only;
  std::string folder = "build/gray";

  bool Wants(const std::string& mood) const { return only.empty() || only == mood; }
};

// ---- a server ----

// Answers each request as the file `mood` says; without one, at once.
class MoodyCounter final : public counter::Counter::Service, public ShardHandler {
 public:
  MoodyCounter(Server& server, std::string mood) : server_(server), mood_(std::move(mood)) {}

  absl::Status AddShard(const ShardGrant&, const LoadProgress&) override {
    return absl::OkStatus();
  }
  absl::Status DropShard(const ShardId&) override { return absl::OkStatus(); }

  grpc::Status Add(grpc::ServerContext* context, const counter::AddRequest* request,
                   counter::AddResponse* response) override {
    std::string mood;
    std::ifstream(mood_) >> mood;
    if (!mood.empty()) std::ofstream(absl::StrCat(mood_, ".asked"), std::ios::app) << '.';
    // Before it is admitted: what hangs here holds nobody's drain up.
    if (mood == "hangs") {
      while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return {grpc::StatusCode::CANCELLED, "nobody waits any more"};
    }
    const auto admission = server_.Admit(*context, &counter::Counter::Stub::Add, request, response);
    if (!admission.ok()) return admission.status();
    if (mood == "errors") return {grpc::StatusCode::INTERNAL, "its disk cannot be read"};
    if (mood == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return grpc::Status::OK;
  }

 private:
  Server& server_;
  const std::string mood_;
};

// One of the servers.
int Serve(int argc, char** argv) {
  ServerOptions options;
  std::string data;
  CLI::App cli("A server that may turn gray.");
  local::AddServerFlags(cli, options, data);
  CLI11_PARSE(cli, argc, argv);
  Server server(options);
  MoodyCounter counter(server, absl::StrCat(data, "/mood-", options.name));
  const absl::Status status = server.Run(counter, {&counter});
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}

// ---- clients ----

// Closed loops, each with a router of its own, so that each is a reporter of its own.
class Clients {
 public:
  Clients(const std::string& discovery, const Flags& flags) : flags_(flags) {
    for (int i = 0; i < flags.clients; ++i) {
      threads_.emplace_back([this, discovery, i] { Run(discovery, i); });
    }
  }
  ~Clients() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  // Of the calls that end within so long, how many end well, in percent.
  double SuccessDuring(std::chrono::seconds time) {
    const uint64_t calls = calls_;
    const uint64_t failed = failed_;
    std::this_thread::sleep_for(time);
    const uint64_t made = calls_ - calls;
    return made == 0 ? 0 : 100.0 - 100.0 * static_cast<double>(failed_ - failed) / made;
  }

 private:
  void Run(const std::string& discovery, int number) {
    Router router({.discovery = {discovery}});
    Random random(static_cast<uint64_t>(number) + 1);
    while (!stop_) {
      counter::AddRequest request;
      request.set_key(absl::StrFormat("%06d", random.Below(static_cast<uint64_t>(flags_.shards))));
      counter::AddResponse response;
      const grpc::Status status = router.GetClient<counter::Counter>("kv", request.key())
                                      .Call(&counter::Counter::Stub::Add, request, &response,
                                            {.timeout = std::chrono::seconds(1),
                                             .idempotent = flags_.replicas > 1,
                                             .any_replica = flags_.replicas > 1});
      failed_ += status.ok() ? 0 : 1;
      ++calls_;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // 2 cores are for all of this
    }
  }

  const Flags& flags_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> failed_{0};
  std::vector<std::thread> threads_;
};

// ---- the cluster ----

v1::AppSpec Spec(const Flags& flags) {
  v1::AppSpec spec;
  spec.set_name("kv");
  spec.mutable_replication()->set_strategy(flags.replicas > 1 ? v1::SECONDARY_ONLY
                                                              : v1::PRIMARY_ONLY);
  spec.mutable_replication()->set_replicas(static_cast<uint32_t>(flags.replicas));
  for (int shard = 1; shard < flags.shards; ++shard) {
    spec.mutable_key_space()->add_split_points(absl::StrFormat("%06d", shard));
  }
  spec.mutable_moves()->set_max_concurrent(50);
  spec.mutable_moves()->set_max_concurrent_per_server(20);
  spec.mutable_moves()->set_balance_interval_ms(500);
  return spec;
}

class Bench {
 public:
  explicit Bench(const Flags& flags) : flags_(flags) {}

  absl::Status SetUp() {
    auto cluster = Cluster::Make({.folder = flags_.folder});
    if (!cluster.ok()) return cluster.status();
    cluster_ = *std::move(cluster);
    if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
    if (absl::Status s = StartOwnServers(*cluster_, flags_.servers); !s.ok()) return s;
    if (absl::Status s = cluster_->admin().Apply(Spec(flags_)).status(); !s.ok()) return s;
    map_ = cluster_->WatchMap();
    return AwaitBalance();
  }

  absl::Status TurnGray(int server, const std::string& mood, std::vector<std::string>& figures) {
    const std::string name = Name(server);
    Clients clients(cluster_->discovery_endpoint(), flags_);
    std::printf("%s: %.1f %% of all calls go well before\n", mood.c_str(),
                clients.SuccessDuring(std::chrono::seconds(5)));
    SetMood(name, mood);
    const TimePoint begin = MonotonicNow();
    const double avoided_s = flags_.replicas > 1 ? InSeconds(UntilAvoided(name)) : 0;
    MapView view;
    const auto drained = [&](const MapView& v) {
      return v.all_served() && !v.counts().contains(name);
    };
    if (!map_->WaitFor(drained, kPatience, &view)) {
      return absl::DeadlineExceededError(
          absl::StrCat(name, " was not drained: ", map_->view().Describe()));
    }
    const double took_s = InSeconds(view.changed - begin);
    const std::string shown = cluster_->Shardctl({"get", "servers", name, "--app", "kv"}).output;
    const double success = clients.SuccessDuring(std::chrono::seconds(10));
    std::printf("%s", shown.c_str());
    if (flags_.replicas > 1) {
      figures.push_back(absl::StrFormat("FIGURE gray_avoided_s_%s %.1f s", mood, avoided_s));
    } else {
      figures.push_back(absl::StrFormat("FIGURE gray_drained_s_%s %.1f s", mood, took_s));
      figures.push_back(absl::StrFormat("FIGURE gray_success_pct_%s %.2f %%", mood, success));
    }
    SetMood(name, "");
    cluster_->server(name).Kill();
    if (absl::Status s = cluster_->RestartServer(name); !s.ok()) return s;
    return AwaitBalance();
  }

  absl::Status BreakTheClientsNetwork(std::vector<std::string>& figures) {
    const auto stub =
        v1::Discovery::NewStub(cluster_->security().Connect(cluster_->discovery_endpoint()));
    for (int second = 0; second < 120; second += 5) {
      for (uint64_t client = 1; client <= 20; ++client) {
        v1::ReportServersRequest report;
        report.set_app("kv");
        report.set_reporter(client);
        for (int i = 1; i <= flags_.servers / 2; ++i) {
          v1::ServerSeen& seen = *report.add_servers();
          seen.set_server(Name(i));
          seen.set_no_connection(1);
        }
        grpc::ClientContext context;
        v1::ReportServersResponse response;
        const grpc::Status sent = stub->ReportServers(&context, report, &response);
        if (!sent.ok()) return absl::InternalError(sent.error_message());
      }
      std::this_thread::sleep_for(std::chrono::seconds(5));
      if (second == 60)
        std::printf("%s", cluster_->Shardctl({"describe", "app", "kv"}).output.c_str());
    }
    const auto apps = cluster_->admin().GetApps();
    if (!apps.ok()) return apps.status();
    figures.push_back(
        absl::StrFormat("FIGURE gray_false_drains %d servers", apps->apps(0).drains_size()));
    return absl::OkStatus();
  }

  std::string Logs() const { return cluster_ ? cluster_->Logs(20) : ""; }

 private:
  static std::string Name(int server) { return absl::StrCat("server-", server); }
  // How often the server was asked since it turned gray.
  size_t Asked(const std::string& server) const {
    std::error_code none;
    const auto size = std::filesystem::file_size(
        absl::StrCat(cluster_->data_folder(), "/mood-", server, ".asked"), none);
    return none ? 0 : static_cast<size_t>(size);
  }
  // It has just turned gray.
  Duration UntilAvoided(const std::string& server) const {
    constexpr Duration kStep = Milliseconds(100);
    constexpr size_t kSteps = 30;  // in three seconds
    const size_t most = 2 * 3 * static_cast<size_t>(flags_.clients);
    std::vector<size_t> asked = {0};
    do {
      std::this_thread::sleep_for(kStep);
      asked.push_back(Asked(server));
    } while (asked.size() <= kSteps || asked.back() - asked[asked.size() - 1 - kSteps] > most);
    return kStep * static_cast<int64_t>(asked.size() - 1 - kSteps);
  }
  void SetMood(const std::string& server, const std::string& mood) const {
    std::ofstream(absl::StrCat(cluster_->data_folder(), "/mood-", server)) << mood;
  }
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
};

absl::Status Measure(Bench& bench, const Flags& flags, std::vector<std::string>& figures) {
  if (absl::Status s = bench.SetUp(); !s.ok()) return s;
  int server = 0;
  for (const char* mood : kMoods) {
    ++server;
    if (!flags.Wants(mood)) continue;
    if (absl::Status s = bench.TurnGray(server, mood, figures); !s.ok()) return s;
  }
  const bool network = flags.replicas == 1 && flags.Wants("network");
  return network ? bench.BreakTheClientsNetwork(figures) : absl::OkStatus();
}

absl::Status MeasureAll(Flags flags, std::vector<std::string>& figures) {
  const std::string folder = flags.folder;
  for (const int replicas : {1, 2}) {
    if (replicas == 2 && flags.only == "network") continue;
    flags.replicas = replicas;
    flags.folder = absl::StrCat(folder, replicas == 1 ? "/primaries" : "/replicas");
    Bench bench(flags);
    if (absl::Status s = Measure(bench, flags, figures); !s.ok()) {
      std::cerr << bench.Logs();
      return s;
    }
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "serve") return Serve(argc - 1, argv + 1);
  Flags flags;
  CLI::App cli("Turns servers gray and measures how long their clients suffer.");
  cli.add_option("--servers", flags.servers)->check(CLI::Range(4, 100))->capture_default_str();
  cli.add_option("--shards", flags.shards)->check(CLI::Range(10, 10'000))->capture_default_str();
  cli.add_option("--clients", flags.clients)->check(CLI::Range(3, 100))->capture_default_str();
  cli.add_option("--only", flags.only, "One of them: hangs, errors, slow, network")
      ->check(CLI::IsMember({"hangs", "errors", "slow", "network"}));
  cli.add_option("--folder", flags.folder, "Data and logs; kept")->capture_default_str();
  CLI11_PARSE(cli, argc, argv);
  std::vector<std::string> figures;
  const absl::Status status = MeasureAll(flags, figures);
  if (!status.ok()) std::cerr << "error: " << status << "\n";
  for (const std::string& figure : figures) std::printf("%s\n", figure.c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace shardmanager

int main(int argc, char** argv) { return shardmanager::Main(argc, argv); }
