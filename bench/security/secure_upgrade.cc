// scripts/bench secure_upgrade: an open cell becomes one with TLS, as docs/security.md has it, and
// then all certificates and their authority are replaced, while clients call it. Real processes:
// two shardmanagerd, a relay, servers of the counter example; clients count, so a request that was
// lost or processed twice is seen.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/logging.h"
#include "security/cell_certificates.h"
#include "steady_load.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager {
namespace {

using local::Cluster;
using local::MapView;
using Migration = Security::Migration;

constexpr std::chrono::seconds kPatience{60};
constexpr char kApp[] = "counter";
// Files are read again every five seconds, here and there.
constexpr std::chrono::seconds kUntilFilesAreRead{11};

struct Flags {
  std::string folder = "build/secure-upgrade";
  int servers = 4;
  int shards = 64;
  int calls_per_s = 400;
  bool no_rotation = false;
  bool must_succeed = false;
};

// What the clients of one part have seen.
struct Seen {
  uint64_t calls = 0;
  uint64_t failed = 0;
  uint64_t wrong = 0;
};

class Upgrade {
 public:
  explicit Upgrade(const Flags& flags) : flags_(flags), certs_(flags.folder + "/certificates") {}

  absl::Status SetUp() {
    std::filesystem::remove_all(flags_.folder);  // of the run before; nothing else
    std::filesystem::create_directories(flags_.folder);
    auto cluster =
        Cluster::Make({.folder = flags_.folder, .app = kApp, .insecure = true, .managers = 2});
    if (!cluster.ok()) return cluster.status();
    cluster_ = *std::move(cluster);
    if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
    if (absl::Status s = cluster_->admin().Apply(Spec()).status(); !s.ok()) return s;
    for (int i = 1; i <= flags_.servers; ++i) {
      if (absl::Status s = StartServer(i); !s.ok()) return s;
    }
    if (absl::Status s = MakeCertificates(); !s.ok()) return s;
    StartClients();
    return AwaitServed();
  }

  // Three rolling restarts of everything.
  absl::StatusOr<Seen> ToTls() {
    for (const auto& [flag, migration] :
         {std::pair("accept", Migration::kAccept), std::pair("connect", Migration::kConnect),
          std::pair("", Migration::kNone)}) {
      std::printf("all are restarted with%s%s\n", *flag == 0 ? " TLS only" : " --tls-migration ",
                  flag);
      std::fflush(stdout);
      if (absl::Status s = Secure(flag, migration); !s.ok()) return s;
      if (absl::Status s = RestartAll(); !s.ok()) return s;
    }
    return TakeSeen();
  }

  // The certificates, and then the authority, in three steps. In the end everything is restarted:
  // new connections between all of them.
  absl::StatusOr<Seen> Rotate() {
    for (const std::vector<std::string>& step :
         {std::vector<std::string>{"renew", "--all", "--new-key"},
          {"ca", "add"},
          {"ca", "use"},
          {"ca", "drop"}}) {
      if (absl::Status s = Certs(step); !s.ok()) return s;
      std::this_thread::sleep_for(kUntilFilesAreRead);
      // New connections, at each step.
      if (absl::Status s = RestartServer(1); !s.ok()) return s;
      if (absl::Status s = RestartManagers(); !s.ok()) return s;
      RestartClients();
    }
    if (absl::Status s = RestartAll(); !s.ok()) return s;
    return TakeSeen();
  }

  std::string Logs() const { return cluster_ ? cluster_->Logs(20) : ""; }

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
    return spec;
  }
  static std::string Name(int server) { return absl::StrCat("counter-", server); }

  absl::Status StartServer(int i) {
    return cluster_->StartServer(
        {.name = Name(i), .rack = absl::StrCat("rack-", i), .program = {cluster_->Bin("counter")}});
  }
  absl::Status Certs(const std::vector<std::string>& arguments) {
    std::printf("shardctl certs %s\n", arguments.back().c_str());
    std::fflush(stdout);
    return certs_.Run(*cluster_, arguments);
  }
  absl::Status MakeCertificates() {
    std::vector<std::string> identities = {
        "control-plane/shardmanagerd", "control-plane/shardmanagerd-2", "relay/shard-discoveryd",
        "admin/test", absl::StrCat("client/", kApp, "/bench")};
    for (int i = 1; i <= flags_.servers; ++i) {
      identities.push_back(absl::StrCat("server/", kApp, "/", Name(i)));
    }
    return certs_.Make(*cluster_, identities);
  }

  // What is started from here on has its own certificate.
  absl::Status Secure(const std::string& step, Migration migration) {
    client_ = {.certs = certs_.Of(absl::StrCat("client/", kApp, "/bench")), .migration = migration};
    const auto flags = [this, step](const std::string& who) {
      std::vector<std::string> all = {"--certs", certs_.Of(who)};
      if (!step.empty()) all.insert(all.end(), {"--tls-migration", step});
      return all;
    };
    return cluster_->security().Change(flags,
                                       {.certs = certs_.Of("admin/test"), .migration = migration});
  }

  absl::Status RestartManagers() {
    for (const size_t manager : {1, 0}) {
      cluster_->manager(manager).Stop();
      if (absl::Status s = cluster_->StartManager(manager); !s.ok()) return s;
    }
    return absl::OkStatus();
  }
  // As in a rolling upgrade: its shards go first.
  absl::Status RestartServer(int i) {
    if (absl::Status s = Shardctl(*cluster_, {"drain", "server", Name(i), "--wait"}); !s.ok())
      return s;
    cluster_->server(Name(i)).Stop();
    if (absl::Status s = StartServer(i); !s.ok()) return s;
    if (absl::Status s = Shardctl(*cluster_, {"undrain", "server", Name(i)}); !s.ok()) return s;
    return AwaitServed();
  }
  absl::Status RestartAll() {
    if (absl::Status s = RestartManagers(); !s.ok()) return s;
    cluster_->relay(0).Stop();
    if (absl::Status s = cluster_->StartRelay(0); !s.ok()) return s;
    for (int i = 1; i <= flags_.servers; ++i) {
      if (absl::Status s = RestartServer(i); !s.ok()) return s;
    }
    RestartClients();
    return AwaitServed();
  }

  absl::Status AwaitServed() {
    const auto map = cluster_->WatchMap();
    const auto whole = [this](const MapView& v) {
      return v.all_served() && v.counts().size() == static_cast<size_t>(flags_.servers);
    };
    if (map->WaitFor(whole, kPatience)) return absl::OkStatus();
    return absl::DeadlineExceededError(map->view().Describe());
  }

  void StartClients() {
    load_ = std::make_unique<SteadyLoad>(
        SteadyLoad::Options{.discovery = cluster_->discovery_endpoint(),
                            .security = client_,
                            .calls_per_s = flags_.calls_per_s});
  }
  // A process that counts has to know its last count: it ends before the next one begins.
  void RestartClients() {
    Add(load_->Stop());
    StartClients();
  }
  void Add(const SteadyLoad::Totals& totals) {
    seen_.calls += totals.calls.size();
    seen_.failed += totals.failed;
    seen_.wrong += totals.wrong;
  }
  Seen TakeSeen() {
    RestartClients();
    return std::exchange(seen_, {});
  }

  const Flags flags_;
  const CellCertificates certs_;
  Security client_ = {.insecure = true};
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<SteadyLoad> load_;  // before the cluster goes
  Seen seen_;
};

bool Print(const char* name, const Seen& seen) {
  std::printf(
      "FIGURE %s_calls %zu calls\nFIGURE %s_failed_calls %zu calls\n"
      "FIGURE %s_wrong_answers %zu answers\n",
      name, size_t{seen.calls}, name, size_t{seen.failed}, name, size_t{seen.wrong});
  return seen.failed == 0 && seen.wrong == 0;
}

int Run(const Flags& flags) {
  Upgrade upgrade(flags);
  const auto fail = [&](const absl::Status& status) {
    std::fprintf(stderr, "error: %s\n%s\n", std::string(status.message()).c_str(),
                 upgrade.Logs().c_str());
    return 1;
  };
  if (absl::Status s = upgrade.SetUp(); !s.ok()) return fail(s);
  const auto upgraded = upgrade.ToTls();
  if (!upgraded.ok()) return fail(upgraded.status());
  bool whole = Print("secure_upgrade", *upgraded);
  if (!flags.no_rotation) {
    const auto rotated = upgrade.Rotate();
    if (!rotated.ok()) return fail(rotated.status());
    whole &= Print("secure_rotation", *rotated);
  }
  return whole || !flags.must_succeed ? 0 : 1;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App cli("An open cell becomes a secure one, and its certificates are replaced, under load.");
  cli.add_option("--folder", flags.folder, "Data and logs")->capture_default_str();
  cli.add_option("--servers", flags.servers, "At least 2")->capture_default_str();
  cli.add_option("--shards", flags.shards, "1 to 99")->capture_default_str();
  cli.add_option("--calls", flags.calls_per_s, "Calls a second")->capture_default_str();
  cli.add_flag("--no-rotation", flags.no_rotation, "The upgrade only");
  cli.add_flag("--must-succeed", flags.must_succeed, "Exit code 1 if a call fails");
  CLI11_PARSE(cli, argc, argv);
  if (absl::Status s = InitLogging("bench_secure_upgrade", {.level = "error"}); !s.ok()) return 1;
  return Run(flags);
}

}  // namespace
}  // namespace shardmanager

int main(int argc, char** argv) { return shardmanager::Main(argc, argv); }
