// The soak: see --help. tests/integration runs it for half a minute, scripts/soak
// for as long as you like.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "runtime/clock.h"
#include "runtime/signals.h"
#include "tests/integration/chaos/client_load.h"
#include "tests/integration/chaos/monkey.h"
#include "tests/integration/chaos/shard_files.h"
#include "tests/integration/history.h"
#include "tests/support/kv_spec.h"

namespace shardmanager::testing {
namespace {

constexpr int kClients = 6;

constexpr char kHelp[] =
    R"(Puts a cluster of real processes under client load while servers are killed,
stopped for longer than their leases and restarted, and ZooKeeper and the control
plane are restarted, all at random. It fails unless

  * no acknowledged write was lost, and all reads fit one order of the writes
    (a history checker, key by key);
  * the tokens that clients saw and that the shards' databases committed never went
    back, and no two servers used the same one: never two servers processed one
    primary; and the fence met no more than the calls that a server had admitted
    before it was stopped;
  * after each fault every shard was served again within the detection time (session
    time-out and one tick of ZooKeeper) and one second.

Run it again with the seed that it prints to see the same faults in the same order.)";

struct Flags {
  double minutes = 0.5;
  uint64_t seed = std::random_device{}();
  int servers = 5;
  int shards = 40;
  int calls_per_second = 600;
  std::string folder;
};

absl::Status StartAll(local::Cluster& cluster, const Flags& flags) {
  if (absl::Status s = cluster.StartCore(); !s.ok()) return s;
  for (int i = 1; i <= flags.servers; ++i) {
    const std::string name = absl::StrCat("kv-", i);
    if (absl::Status s = cluster.StartServer({.name = name, .rack = name}); !s.ok()) return s;
  }
  return cluster.admin().Apply(KvSpec(flags.shards)).status();
}

absl::Status Judge(const Verdict& verdict, const std::string& what) {
  if (!verdict) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(what, ": ", *verdict));
}

absl::Status CheckHistory(const std::vector<Operation>& history) {
  if (absl::Status s = Judge(CheckRegisters(history), "what clients saw"); !s.ok()) return s;
  return Judge(CheckTokens(history), "tokens that clients saw");
}

absl::Status CheckDatabases(const local::Cluster& cluster, const Monkey& monkey) {
  const auto audit = ReadAudit(cluster.data_folder());
  if (!audit.ok()) return audit.status();
  size_t fenced = 0;
  std::map<std::string, int> may_be_fenced;  // one admitted call of each client when it was stopped
  for (const auto& [server, stops] : monkey.stops()) may_be_fenced[server] = stops * kClients;
  for (const AuditRow& row : *audit) {
    if (row.accepted) continue;
    ++fenced;
    if (may_be_fenced[row.server]-- > 0) continue;
    return absl::InternalError(absl::StrCat(row.server, " met the fence of ", row.shard, " (",
                                            row.what, ", token ", row.epoch,
                                            ") without having been stopped in a call"));
  }
  std::cout << audit->size() << " rows in the databases' audit, " << fenced
            << " of them refused by the fence\n";
  return Judge(CheckAudit(*audit), "tokens in the databases");
}

absl::Status Soak(local::Cluster& cluster, const Flags& flags, StopSignals& stop) {
  if (absl::Status s = StartAll(cluster, flags); !s.ok()) return s;
  KvClient client(cluster.discovery_endpoint());
  KvClient direct(cluster.admin_endpoint());
  if (absl::Status s = client.WaitReady(std::chrono::seconds(30)); !s.ok()) return s;
  if (absl::Status s = direct.WaitReady(std::chrono::seconds(30)); !s.ok()) return s;

  Monkey monkey(cluster, client, direct, flags.shards, flags.seed);
  ClientLoad load({&client, &direct}, {.shards = flags.shards,
                                       .threads = kClients,
                                       .calls_per_second = flags.calls_per_second,
                                       .seed = flags.seed});
  const TimePoint end = MonotonicNow() + Milliseconds(static_cast<int64_t>(flags.minutes * 60'000));
  while (MonotonicNow() < end && !stop.WaitFor(std::chrono::milliseconds(0))) {
    if (absl::Status s = monkey.Round(); !s.ok()) return s;
  }
  // Everything is up: every key can be read.
  size_t unread = 0;
  const std::vector<Operation> history = load.Finish(&unread);
  std::cout << monkey.rounds() << " rounds, " << load.acknowledged() << " calls answered, "
            << load.failed() << " not; slowest failover " << monkey.slowest_failover().count()
            << " ms\n";
  if (unread > 0) return absl::UnavailableError(absl::StrCat(unread, " keys cannot be read"));
  for (const std::string& name : cluster.server_names()) cluster.server(name).Kill();
  if (absl::Status s = CheckHistory(history); !s.ok()) return s;
  return CheckDatabases(cluster, monkey);
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App cli(kHelp, "soak");
  cli.add_option("--minutes", flags.minutes, "How long")->take_last()->capture_default_str();
  cli.add_option("--seed", flags.seed, "Of all choices. Default: another one each time");
  cli.add_option("--servers", flags.servers, "kvstore servers")
      ->check(CLI::Range(3, 50))
      ->capture_default_str();
  cli.add_option("--shards", flags.shards, "Shards")
      ->check(CLI::Range(1, 500))
      ->capture_default_str();
  cli.add_option("--calls", flags.calls_per_second, "Client calls per second")
      ->check(CLI::Range(10, 20'000))
      ->capture_default_str();
  cli.add_option("--folder", flags.folder,
                 "Data and logs; kept. Default: a temporary one, removed at the end");
  CLI11_PARSE(cli, argc, argv);

  std::cout << "seed " << flags.seed << std::endl;
  StopSignals stop;
  auto cluster = local::Cluster::Make({.folder = flags.folder});
  absl::Status status = cluster.status();
  if (status.ok()) status = Soak(**cluster, flags, stop);
  if (status.ok()) {
    std::cout << "no acknowledged write was lost, and no shard had two primaries\n";
    return 0;
  }
  if (cluster.ok()) std::cerr << (*cluster)->Logs(40);
  std::cerr << "FAILED with seed " << flags.seed << ": " << status.message() << "\n";
  return 1;
}

}  // namespace
}  // namespace shardmanager::testing

int main(int argc, char** argv) { return shardmanager::testing::Main(argc, argv); }
