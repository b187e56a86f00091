// What a call through the router to a server with Admit costs, beside a plain stub's to a server
// without either. scripts/bench call
//
// Each server and each client is a process of its own (servers.h, clients.h). All variants take
// turns, in slots of a fraction of a second and in another order each round, so that whatever the
// machine does beside them hits all alike; a figure is the median of the rounds. Each is compared
// with the plain call of the same round.
#include <grpcpp/grpcpp.h>
#include <sys/types.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/random.h"
#include "callers.h"
#include "clients.h"
#include "discovery/hub.h"
#include "memory.h"
#include "security/cert_folder.h"
#include "servers.h"
#include "wire/discovery_service.h"

namespace shardmanager::call_bench {
namespace {

constexpr Way kWays[] = {Way::kPlain,  Way::kBeside,   Way::kHeaded,
                         Way::kRouted, Way::kMeasured, Way::kAdmitted};
constexpr const char* kNamesOfWays[] = {"plain",  "beside",   "headed",
                                        "routed", "measured", "admitted"};
// In this order. The cell that servers with Admit are of here knows no TLS; what Admit takes has
// nothing to do with it.
std::span<const Way> WaysOf(Wire wire) {
  return wire == Wire::kTls ? std::span(kWays).first(std::size(kWays) - 1) : std::span(kWays);
}
constexpr size_t kBeside = 1, kHeaded = 2, kRouted = 3, kMeasured = 4, kAdmitted = 5;  // in these

struct Flags {
  int rounds = 40;
  int slot_ms = 120;
  std::string only;  // part of a variant's name
  bool tls = false;
};

// One turn of a variant.
struct Turn {
  double calls_per_s;
  double client_us;  // processor time a call
  double server_us;
  double client_switches;  // of threads, a call
  double server_switches;
};
using Turns = std::vector<Turn>;  // by round

double CpuSeconds(clockid_t clock) {
  timespec time{};
  SM_CHECK(clock_gettime(clock, &time) == 0, "the process runs");
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

clockid_t CpuClockOf(pid_t process) {
  clockid_t clock{};
  SM_CHECK(clock_getcpuclockid(process, &clock) == 0, "the process runs");
  return clock;
}

// Of all threads that it has now.
double SwitchesOf(pid_t process) {
  double switches = 0;
  for (const auto& thread :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", process, "/task"))) {
    std::ifstream status(thread.path() / "status");
    constexpr std::string_view kField = "voluntary_ctxt_switches:";
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with(kField)) switches += std::stod(line.substr(kField.size()));
    }
  }
  return switches;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

v1::MapSnapshot MapOf(const std::string& endpoint) {
  v1::MapSnapshot whole;
  whole.mutable_version()->set_leader_epoch(1);
  whole.mutable_version()->set_sequence(1);
  v1::MapServer* server = whole.add_servers();
  server->set_name(kServerName);
  server->set_endpoint(endpoint);
  const auto start = [](int i) { return absl::StrFormat("user:%08d", i * (10'000'000 / kShards)); };
  for (int i = 0; i < kShards; ++i) {
    v1::MapShard* shard = whole.add_shards();
    shard->set_index(static_cast<uint32_t>(i));
    shard->set_id(ShardName(i));
    if (i > 0) shard->mutable_range()->set_start(start(i));
    if (i + 1 < kShards) shard->mutable_range()->set_end(start(i + 1));
    shard->add_replicas()->set_role(v1::PRIMARY);
  }
  return whole;
}

class Discovery {
 public:
  explicit Discovery(Wire wire) : service_(hub_, {.gate = wire::Gate::OfAnOpenCell()}) {
    grpc::ServerBuilder builder;
    wire::PrepareForSubscribers(builder);
    TransportOf(wire)->ListenAt("127.0.0.1:0", {security::Anybody()}, builder, &port_);
    builder.RegisterService(service_.service());
    server_ = builder.BuildAndStart();
  }
  ~Discovery() {
    service_.EndStreams();
    server_->Shutdown();
  }

  discovery::Hub& hub() { return hub_; }
  std::string endpoint() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  discovery::Hub hub_;
  wire::DiscoveryService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class Bench {
 public:
  Bench(const Flags& flags, std::string folder) : flags_(flags), folder_(std::move(folder)) {}

  absl::Status SetUp() {
    for (const Wire wire : Wires()) {
      discovery_[wire] = std::make_unique<Discovery>(wire);
      for (const Form form : {Form::kSync, Form::kCallback}) {
        if (absl::Status s = Start(wire, form); !s.ok()) return s;
      }
    }
    return absl::OkStatus();
  }

  void Run() {
    const std::vector<Variant> variants = Variants();
    turns_.resize(variants.size());
    std::vector<size_t> order(variants.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    Random random(1);
    for (int round = -1; round < flags_.rounds; ++round) {
      for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
      for (const size_t i : order) {
        const Turn turn = TakeTurn(variants[i]);
        if (round >= 0) turns_[i].push_back(turn);  // the first one warms up
      }
    }
    Report(variants);
  }

  double AdmitNs() { return clients_.at({Wire::kPlainText, Form::kSync, true})->AdmitNs(); }

  absl::StatusOr<RouterMemory> Memory() {
    Discovery& discovery = *discovery_.at(Wire::kPlainText);
    return MeasureRouterMemory(discovery.hub(), discovery.endpoint(), folder_);
  }

 private:
  std::vector<Wire> Wires() const {
    if (flags_.tls) return {Wire::kPlainText, Wire::kTls};
    return {Wire::kPlainText};
  }

  absl::Status Start(Wire wire, Form form) {
    for (const Asks asks : {Asks::kNobody, Asks::kAdmit}) {
      if (wire == Wire::kTls && asks == Asks::kAdmit) continue;
      auto server = StartServer(form, asks, wire);
      if (!server.ok()) return server.status();
      discovery_.at(wire)->hub().Publish(AppName(AppOf(form, asks)), MapOf(server->endpoint));
      servers_.emplace(std::tuple(wire, form, asks), *std::move(server));
    }
    for (const bool routed : {false, true}) {
      auto client =
          ClientProcess::Start(form, wire, servers_.at({wire, form, Asks::kNobody}).endpoint,
                               routed ? discovery_.at(wire)->endpoint() : "", folder_);
      if (!client.ok()) return client.status();
      clients_.emplace(std::tuple(wire, form, routed), *std::move(client));
    }
    return absl::OkStatus();
  }

  // Of one name in the order of Way.
  std::vector<Variant> Variants() const {
    std::vector<Variant> variants;
    for (const Form form : {Form::kSync, Form::kCallback}) {
      for (const Kind kind : {Kind::kUnary, Kind::kStream}) {
        for (const int threads : {1, 8}) {
          for (const Wire wire : Wires()) {
            for (const Way way : WaysOf(wire)) {
              const Variant variant{form, wire, kind, way, threads};
              const Variant in_text{form, Wire::kPlainText, kind, way, threads};
              if (NameOf(in_text).find(flags_.only) == std::string::npos) continue;
              variants.push_back(variant);
            }
          }
        }
      }
    }
    return variants;
  }

  Turn TakeTurn(const Variant& variant) {
    ClientProcess& client = *clients_.at({variant.wire, variant.form, variant.way != Way::kPlain});
    const Asks asks = variant.way == Way::kAdmitted ? Asks::kAdmit : Asks::kNobody;
    const clockid_t client_clock = CpuClockOf(client.pid());
    const pid_t server = servers_.at({variant.wire, variant.form, asks}).process.pid();
    const clockid_t server_clock = CpuClockOf(server);
    const double client_before = CpuSeconds(client_clock);
    const double server_before = CpuSeconds(server_clock);
    const double begin = CpuSeconds(CLOCK_MONOTONIC);
    const double server_switches = SwitchesOf(server);
    const auto calls = client.CallFor(std::chrono::milliseconds(flags_.slot_ms), variant);
    return {calls.count / (CpuSeconds(CLOCK_MONOTONIC) - begin),
            (CpuSeconds(client_clock) - client_before) * 1e6 / calls.count,
            (CpuSeconds(server_clock) - server_before) * 1e6 / calls.count,
            calls.switches / calls.count, (SwitchesOf(server) - server_switches) / calls.count};
  }

  double MedianOf(size_t variant, double Turn::*figure) const {
    std::vector<double> values;
    for (const Turn& turn : turns_[variant]) values.push_back(turn.*figure);
    return Median(std::move(values));
  }

  // Percent of the plain variant's throughput that this one lacks.
  double Loss(size_t variant, size_t plain) const {
    std::vector<double> shares;
    for (size_t round = 0; round < turns_[variant].size(); ++round) {
      shares.push_back(turns_[variant][round].calls_per_s / turns_[plain][round].calls_per_s);
    }
    return 100 * (1 - Median(std::move(shares)));
  }

  void Report(const std::vector<Variant>& variants) const {
    const auto say = [](const std::string& figure, double value, const char* unit) {
      std::printf("FIGURE %s %.2f %s\n", figure.c_str(), value, unit);
    };
    for (size_t plain = 0; plain < variants.size(); plain += WaysOf(variants[plain].wire).size()) {
      const std::string name = NameOf(variants[plain]);
      const auto loss = [&](const char* figure, size_t way, size_t beside = 0) {
        say(absl::StrCat(figure, "_", name), Loss(plain + way, plain + beside), "%");
      };
      loss("router_beside_plain_pct", kBeside);
      loss("header_over_plain_pct", kHeaded);
      loss("router_over_plain_pct", kRouted);
      loss("router_metrics_pct", kMeasured, kRouted);  // aim 3
      const std::span<const Way> ways = WaysOf(variants[plain].wire);
      if (variants[plain].wire == Wire::kTls) {
        const size_t text = plain - std::size(kWays);  // the same without
        say(absl::StrCat(name, "_over_text_pct_plain"), Loss(plain, text), "%");
        say(absl::StrCat(name, "_over_text_pct_routed"), Loss(plain + kRouted, text + kRouted),
            "%");
      } else {
        loss("routed_over_plain_pct", kAdmitted);
        loss("routed_over_beside_pct", kAdmitted, kBeside);
        loss("routed_over_header_pct", kAdmitted, kHeaded);
      }
      if (name == "sync_unary_8")
        say("routed_over_plain_pct", Loss(plain + kAdmitted, plain), "%");  // aim 3
      for (size_t way = 0; way < ways.size(); ++way) {
        const std::string of = absl::StrCat(name, "_", kNamesOfWays[way]);
        say(absl::StrCat("calls_per_s_", of), MedianOf(plain + way, &Turn::calls_per_s), "/s");
        say(absl::StrCat("client_us_", of), MedianOf(plain + way, &Turn::client_us), "us");
        say(absl::StrCat("server_us_", of), MedianOf(plain + way, &Turn::server_us), "us");
        say(absl::StrCat("client_switches_", of), MedianOf(plain + way, &Turn::client_switches),
            "switches");
        say(absl::StrCat("server_switches_", of), MedianOf(plain + way, &Turn::server_switches),
            "switches");
      }
    }
  }

  const Flags flags_;
  const std::string folder_;
  std::map<Wire, std::unique_ptr<Discovery>> discovery_;
  std::map<std::tuple<Wire, Form, Asks>, ServerProcess> servers_;
  // By whether routed.
  std::map<std::tuple<Wire, Form, bool>, std::unique_ptr<ClientProcess>> clients_;
  std::vector<Turns> turns_;  // by variant
};

int Main(const Flags& flags, const std::string& folder) {
  const std::string certs = folder + "/certs";
  SM_CHECK(security::EnsureTrialFolder(certs, std::time(nullptr)).ok(), "the folder is new");
  setenv("SM_CERTS", certs.c_str(), 1);  // of all processes
  Bench bench(flags, folder);
  if (const absl::Status status = bench.SetUp(); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  bench.Run();
  std::printf("FIGURE admit_ns %.0f ns\n", bench.AdmitNs());
  const auto memory = bench.Memory();
  if (!memory.ok()) {
    std::fprintf(stderr, "%s\n", memory.status().ToString().c_str());
    return 1;
  }
  std::printf("FIGURE router_base_rss_mb %.1f MB\n", memory->base_mb);
  std::printf("FIGURE router_100k_rss_mb %.1f MB\n", memory->added_mb);
  std::printf("FIGURE router_100k_rss_peak_mb %.1f MB\n", memory->most_mb);
  return 0;
}

}  // namespace
}  // namespace shardmanager::call_bench

int main(int argc, char** argv) {
  namespace bench = shardmanager::call_bench;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 5 && words[0] == "serve") {
    return bench::Serve(words[1], words[2], bench::WireOf(words[3]), std::stoi(words[4]));
  }
  if (words.size() >= 6 && words[0] == "call") {
    return bench::MakeCalls({words.begin() + 1, words.end()});
  }
  if (words.size() == 3 && words[0] == "memory") return bench::MeasureOwnMemory(words[1], words[2]);
  bench::Flags flags;
  CLI::App cli("What a routed call costs beside a plain one.");
  cli.add_option("--rounds", flags.rounds, "Turns of each variant")->capture_default_str();
  cli.add_option("--slot-ms", flags.slot_ms, "Length of a turn")->capture_default_str();
  cli.add_option("--only", flags.only,
                 "Only variants with this in their name, without tls_: sync_unary_8");
  cli.add_flag("--tls", flags.tls, "Each variant with TLS, too: names that begin with tls_");
  CLI11_PARSE(cli, argc, argv);
  std::string folder = std::filesystem::temp_directory_path() / "sm-call-XXXXXX";
  SM_CHECK(mkdtemp(folder.data()) != nullptr, "a folder can be made");
  const int end = bench::Main(flags, folder);
  std::filesystem::remove_all(folder);
  return end;
}
