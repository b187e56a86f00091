// The soak: see --help. tests/integration runs it for half a minute, scripts/soak
// for as long as you like.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "runtime/clock.h"
#include "runtime/signals.h"
#include "tests/integration/chaos/client_load.h"
#include "tests/integration/chaos/monkey.h"
#include "tests/integration/chaos/operator.h"
#include "tests/integration/chaos/planned.h"
#include "tests/integration/chaos/storm.h"
#include "tests/integration/chaos/verdict.h"
#include "tests/support/kv_spec.h"

namespace shardmanager::testing {
namespace {

constexpr int kClients = 6;
constexpr std::chrono::seconds kStart{60};
// Of a call or message with --planned: none may fail.
constexpr std::chrono::seconds kPlannedTimeout{5};

constexpr char kHelp[] =
    R"(Puts a cluster of real processes under client load, and breaks it at random. It fails
unless

  * no acknowledged write was lost, and all reads fit one order of the writes
    (a history checker, key by key), and each put was committed once at most; a message
    of a stream is a put as any other, and one without an answer is a put of which
    nobody knows the outcome;
  * the tokens that clients saw and that the shards' databases committed never went
    back, and no two servers used the same one: never two servers processed one
    primary; and the fence met no more than the calls that a server had admitted
    before it was stopped;
  * in the end every shard is served and every server has its share.

One fault after the other, unless --storm: servers are killed, stopped for longer than
their leases and restarted, and ZooKeeper and the control plane are restarted. After
each, every shard must be served again within the detection time (session time-out and
one tick of ZooKeeper) and one second.

--storm: several at a time, of any kind and of any process, with pauses of calm. With
--namespaces each process, or pair of servers, is on a machine of its own, in a network
that cuts (both ways or one), delays and loses packets, too. The worst times are in the
FIGURE lines at the end: until all shards were served after the last fault of a round
(chaos_served_ms), and until all was at rest after that (chaos_rest_ms).

--planned: no faults. Servers are drained; drained servers and the control plane are
stopped with SIGTERM and started again: no call and no message of a stream may fail.

--lasting: beside these, faults that nobody mends. One begins in each of the first rounds,
when all is at rest, half of them with no other fault. The servers that are left and well
must serve every shard, in as many replicas as ever, in equal shares:
  gone  a quarter of the servers is killed for good, one after the other
  sick  one server is killed and started again on a disk on which no shard can be opened
  cut   the leading shardmanagerd alone is cut off from ZooKeeper, and its successor four
        rounds later, when the first one is back: it must not answer as the leader

Run it again with the seed that it prints to see the same faults in the same order.)";

struct Flags {
  double minutes = 0.5;
  uint64_t seed = std::random_device{}();
  bool storm = false;
  bool planned = false;
  bool namespaces = false;
  bool replicated = false;
  bool callback = false;
  int streams = 2;
  int ensemble = 1;
  int control_planes = 1;
  int relays = 1;
  int servers = 5;
  int shards = 40;
  int calls_per_second = 600;
  int session_timeout_ms = 2'000;
  std::vector<std::string> lasting;
  int served_within_ms = 60'000;
  std::string folder;
};

std::set<LastingKind> LastingOf(const Flags& flags) {
  static const std::map<std::string, LastingKind> kinds = {
      {"gone", LastingKind::kGone}, {"sick", LastingKind::kSick}, {"cut", LastingKind::kCut}};
  std::set<LastingKind> lasting;
  for (const std::string& name : flags.lasting) lasting.insert(kinds.at(name));
  return lasting;
}

// Two servers share a machine.
std::string MachineOf(int server) { return absl::StrCat("host-", (server + 1) / 2); }

v1::AppSpec SpecOf(const Flags& flags) {
  return flags.replicated ? ReplicatedKvSpec(flags.shards) : KvSpec(flags.shards);
}

absl::Status StartAll(local::Cluster& cluster, const Flags& flags) {
  if (absl::Status s = cluster.StartCore(); !s.ok()) return s;
  for (int i = 1; i <= flags.servers; ++i) {
    const std::string name = absl::StrCat("kv-", i);
    local::ServerOptions options{.name = name, .rack = name, .machine = MachineOf(i)};
    options.program = {cluster.Bin("kvstore")};
    if (flags.replicated) {
      options.program.insert(options.program.end(), {"--storage", "replicated"});
    }
    // Both forms hand shards over to each other.
    if (flags.callback && i % 2 == 0) options.program.emplace_back("--callback");
    if (LastingOf(flags).contains(LastingKind::kSick)) {
      if (absl::Status s = MakeDisk(cluster, name); !s.ok()) return s;
      options.data = DiskOf(cluster, name);
    }
    if (absl::Status s = cluster.StartServer(options); !s.ok()) return s;
  }
  return cluster.admin().Apply(SpecOf(flags)).status();
}

std::unique_ptr<Experiment> MakeExperiment(local::Cluster& cluster, KvClient& client,
                                           KvClient& other, const Flags& flags) {
  if (flags.planned) return std::make_unique<Planned>(cluster, flags.seed);
  if (!flags.storm) {
    return std::make_unique<Monkey>(cluster, client, other, flags.shards, flags.seed);
  }
  auto machine_of = [](const std::string& server) {
    int number = 0;
    std::sscanf(server.c_str(), "kv-%d", &number);
    return MachineOf(number);
  };
  StormOptions options{.seed = flags.seed,
                       .shards = flags.shards,
                       .network = cluster.options().network,
                       .lasting = LastingOf(flags),
                       .served_within = std::chrono::milliseconds(flags.served_within_ms)};
  if (flags.replicated) options.replicas = static_cast<int>(SpecOf(flags).replication().replicas());
  if (options.network == nullptr) options.lasting.erase(LastingKind::kCut);
  return std::make_unique<Storm>(cluster, Fleet(cluster, machine_of),
                                 std::vector<KvClient*>{&client, &other}, options);
}

ClientLoadOptions LoadOf(const Flags& flags) {
  ClientLoadOptions options{.shards = flags.shards,
                            .threads = kClients,
                            .streaming = flags.streams,
                            .calls_per_second = flags.calls_per_second,
                            .seed = flags.seed};
  if (flags.planned) options.timeout = kPlannedTimeout;
  return options;
}

// Beside what the history shows.
absl::Status JudgeCounts(const ClientLoad& load, const Flags& flags) {
  const StreamCounts& streams = load.streams();
  std::cout << load.acknowledged() << " calls answered, " << load.failed() << " not\n"
            << streams.acknowledged << " messages of streams answered, " << streams.failed
            << " not; " << streams.resent << " sent again; " << streams.opened
            << " streams opened, " << streams.reopened << " of them for one that had ended, "
            << streams.broken << " of those with an error\n";
  if (!load.first_error().empty()) {
    std::cout << "the first error of a call: " << load.first_error() << "\n";
  }
  if (!streams.first_error.empty()) {
    std::cout << "the first error of a stream: " << streams.first_error << "\n";
  }
  if (streams.misnumbered > 0) {
    return absl::DataLossError(
        absl::StrCat(streams.misnumbered, " answers in streams are not to the next message"));
  }
  if (flags.streams > 0 && streams.acknowledged == 0) {
    return absl::UnavailableError("no message of a stream was answered");
  }
  if (flags.planned && load.failed() + streams.failed + streams.broken > 0) {
    return absl::UnavailableError("a client noticed a planned event");
  }
  return absl::OkStatus();
}

absl::Status Soak(local::Cluster& cluster, const Flags& flags, StopSignals& stop) {
  if (absl::Status s = StartAll(cluster, flags); !s.ok()) return s;
  KvClient client(cluster.discovery_endpoint());
  // Hears the map some other way.
  const auto last_relay = static_cast<size_t>(flags.relays - 1);
  KvClient other(flags.relays > 1 ? cluster.discovery_endpoint(last_relay)
                                  : cluster.admin_endpoint());
  if (absl::Status s = client.WaitReady(kStart); !s.ok()) return s;
  if (absl::Status s = other.WaitReady(kStart); !s.ok()) return s;

  const std::unique_ptr<Experiment> experiment = MakeExperiment(cluster, client, other, flags);
  ClientLoad load({&client, &other}, LoadOf(flags));
  std::unique_ptr<Operator> admin;
  if (flags.storm) admin = std::make_unique<Operator>(cluster, SpecOf(flags));
  const TimePoint end = MonotonicNow() + Milliseconds(static_cast<int64_t>(flags.minutes * 60'000));
  while (MonotonicNow() < end && !stop.WaitFor(std::chrono::milliseconds(0))) {
    if (absl::Status s = experiment->Round(); !s.ok()) return s;
  }
  if (absl::Status s = experiment->AwaitRest(); !s.ok()) return s;
  if (admin != nullptr) {
    if (absl::Status s = admin->Finish(); !s.ok()) return s;
    std::cout << admin->acknowledged() << " changes of the spec acknowledged, none lost\n";
  }
  // Everything is up: every key can be read.
  size_t unread = 0;
  const std::vector<Operation> history = load.Finish(&unread);
  std::cout << experiment->Summary() << "\n";
  if (absl::Status s = JudgeCounts(load, flags); !s.ok()) return s;
  if (unread > 0) return absl::UnavailableError(absl::StrCat(unread, " keys cannot be read"));
  for (const std::string& name : cluster.server_names()) cluster.server(name).Kill();
  if (flags.replicated) return JudgeClients(history);
  return Judge(history, cluster.data_folder(),
               {.stops = experiment->stops(),
                .clients = kClients + flags.streams,
                .overlapping = flags.storm});
}

void AddFlags(CLI::App& cli, Flags& flags) {
  cli.add_option("--minutes", flags.minutes, "How long")->take_last()->capture_default_str();
  cli.add_option("--seed", flags.seed, "Of all choices. Default: another one each time");
  cli.add_flag("--storm", flags.storm, "Several faults at a time, of the whole fleet");
  cli.add_flag("--namespaces", flags.namespaces, "Faults of the network, too (needs --storm)");
  cli.add_flag("--planned", flags.planned, "No faults: drains, and restarts of drained servers");
  cli.add_option("--streams", flags.streams,
                 "Clients that put through streams, beside the six that put and get with calls; "
                 "each sends as many messages as one of those makes calls")
      ->check(CLI::Range(0, 50))
      ->take_last()
      ->capture_default_str();
  cli.add_flag("--callback", flags.callback, "Every second server uses gRPC's callback API");
  cli.add_flag("--replicated", flags.replicated,
               "A primary and two secondaries of each shard, each with a file of its own "
               "(needs --storm or --planned)");
  cli.add_option("--ensemble", flags.ensemble, "ZooKeeper servers")
      ->check(CLI::IsMember({1, 3, 5}))
      ->take_last()
      ->capture_default_str();
  cli.add_option("--control-planes", flags.control_planes, "shardmanagerd")
      ->check(CLI::Range(1, 5))
      ->take_last()
      ->capture_default_str();
  cli.add_option("--relays", flags.relays, "shard-discoveryd, one behind the other")
      ->check(CLI::Range(1, 5))
      ->take_last()
      ->capture_default_str();
  cli.add_option("--servers", flags.servers, "kvstore servers")
      ->check(CLI::Range(3, 50))
      ->take_last()
      ->capture_default_str();
  cli.add_option("--shards", flags.shards, "Shards")
      ->check(CLI::Range(1, 500))
      ->take_last()
      ->capture_default_str();
  cli.add_option("--calls", flags.calls_per_second, "Client calls per second")
      ->check(CLI::Range(10, 20'000))
      ->take_last()
      ->capture_default_str();
  cli.add_option("--session-timeout-ms", flags.session_timeout_ms, "Of servers and control planes")
      ->check(CLI::Range(1'000, 60'000))
      ->take_last()
      ->capture_default_str();
  cli.add_option("--lasting", flags.lasting, "Faults that stay: gone, sick, cut (needs --storm)")
      ->delimiter(',')
      ->check(CLI::IsMember({"gone", "sick", "cut"}));
  cli.add_option("--served-within-ms", flags.served_within_ms,
                 "With --storm: longest time until all shards are served after a round")
      ->check(CLI::Range(0, 600'000))
      ->capture_default_str();
  cli.add_option("--folder", flags.folder,
                 "Data and logs; kept. Default: a temporary one, removed at the end");
}

absl::Status CheckFlags(const Flags& flags) {
  if (!flags.storm && (flags.ensemble > 1 || flags.control_planes > 1 || flags.relays > 1)) {
    return absl::InvalidArgumentError("more than one ZooKeeper, control plane or relay: --storm");
  }
  if (flags.planned && flags.storm) {
    return absl::InvalidArgumentError("--planned and --storm exclude each other");
  }
  if (flags.replicated && !flags.storm && !flags.planned) {
    return absl::InvalidArgumentError("--replicated needs --storm or --planned");
  }
  if (!flags.lasting.empty() && !flags.storm) {
    return absl::InvalidArgumentError("--lasting needs --storm");
  }
  if (LastingOf(flags).contains(LastingKind::kCut) &&
      (!flags.namespaces || flags.control_planes < 2)) {
    return absl::InvalidArgumentError("--lasting cut needs --namespaces and two control planes");
  }
  if (flags.namespaces && (!flags.storm || flags.ensemble < 3)) {
    return absl::InvalidArgumentError("--namespaces needs --storm and an ensemble");
  }
  return absl::OkStatus();
}

// Null where there is none. To be called before any thread that talks is started: all of
// ours are to be on one of its machines.
std::unique_ptr<local::Network> MakeNetwork(const Flags& flags) {
  if (!flags.namespaces) return nullptr;
  auto network = local::Network::Make(flags.seed);
  absl::Status status = network.status();
  if (status.ok()) status = (*network)->Enter(local::Network::kClients);
  if (status.ok()) return *std::move(network);
  std::cout << "no faults of the network, as this machine forbids namespaces (" << status.message()
            << "): processes on 127.0.0.1 are killed and stopped only\n";
  return nullptr;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App cli(kHelp, "soak");
  AddFlags(cli, flags);
  CLI11_PARSE(cli, argc, argv);

  std::cout << "seed " << flags.seed << std::endl;
  absl::Status status = CheckFlags(flags);
  const std::unique_ptr<local::Network> network = status.ok() ? MakeNetwork(flags) : nullptr;
  StopSignals stop;
  local::ClusterOptions options{.folder = flags.folder,
                                .session_timeout_ms = flags.session_timeout_ms,
                                .zookeepers = flags.ensemble,
                                .managers = flags.control_planes,
                                .relays = flags.relays,
                                .network = network.get()};
  // Sessions at a follower that is cut off end before it notices that it is.
  options.sync_limit_ticks = options.session_timeout_ms * 5 / 4 / options.zookeeper_tick_ms;
  auto cluster = local::Cluster::Make(options);
  if (status.ok()) status = cluster.status();
  if (status.ok()) status = Soak(**cluster, flags, stop);
  if (status.ok()) {
    std::cout << "acknowledged writes lost: 0; primary requests processed twice: 0; all shards "
                 "are served, nothing moves\n";
    return 0;
  }
  if (cluster.ok()) std::cerr << (*cluster)->Logs(40);
  std::cerr << "FAILED with seed " << flags.seed << ": " << status.message() << "\n";
  return 1;
}

}  // namespace
}  // namespace shardmanager::testing

int main(int argc, char** argv) { return shardmanager::testing::Main(argc, argv); }
