#include "tests/local_cluster/cluster.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/local_cluster/ports.h"

namespace shardmanager::local {
namespace {

constexpr std::chrono::seconds kStartTimeout{20};
constexpr std::chrono::seconds kCommandTimeout{60};
// Endpoints for a standby are there in any case.
constexpr int kManagersAtLeast = 2;
// On machines of their own.
constexpr int kManagerPort = 7400;
constexpr int kRelayPort = 7401;

std::string DefaultBinFolder() {
  if (const char* folder = std::getenv("SM_BIN_DIR")) return folder;
  const auto own = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  // Tests are in <build>/tests/bin, programs in <build>/bin.
  return own.parent_path().filename() == "tests" ? own / "../../bin" : own;
}

absl::Status WithLog(const absl::Status& status, const Program& program) {
  return absl::Status(
      status.code(),
      absl::StrCat(program.name(), ": ", std::string(status.message()), "\n", program.LogTail(30)));
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

int PortOf(const std::vector<int>& ports, int i) {
  return i < static_cast<int>(ports.size()) ? ports[static_cast<size_t>(i)] : 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Cluster>> Cluster::Make(ClusterOptions options) {
  if (options.bin_folder.empty()) options.bin_folder = DefaultBinFolder();
  std::unique_ptr<Cluster> cluster(new Cluster(std::move(options)));
  std::string& folder = cluster->options_.folder;
  std::error_code error;
  if (folder.empty()) {
    folder = (std::filesystem::temp_directory_path(error) / "shardmanager-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return absl::ErrnoToStatus(errno, folder);
    cluster->remove_folder_ = true;
  }
  std::filesystem::create_directories(cluster->data_folder(), error);
  if (error) return absl::UnavailableError(absl::StrCat(folder, ": ", error.message()));
  auto security = ClusterSecurity::Make(folder, cluster->options_.insecure);
  if (!security.ok()) return security.status();
  cluster->security_ = *std::move(security);
  if (absl::Status status = cluster->LayOut(); !status.ok()) return status;
  return cluster;
}

absl::Status Cluster::LayOut() {
  if (absl::Status status = LayOutZookeepers(); !status.ok()) return status;
  for (int i = 0; i < std::max(options_.managers, kManagersAtLeast); ++i) {
    const std::string name = i == 0 ? "shardmanagerd" : absl::StrCat("shardmanagerd-", i + 1);
    auto daemon = MakeDaemon(name, absl::StrCat("manager-", i + 1), kManagerPort);
    if (!daemon.ok()) return daemon.status();
    daemon->metrics_port = PortOf(options_.manager_metrics, i);
    managers_.push_back(*std::move(daemon));
  }
  for (int i = 0; i < options_.relays; ++i) {
    const std::string name = i == 0 ? "shard-discoveryd" : absl::StrCat("shard-discoveryd-", i + 1);
    auto daemon = MakeDaemon(name, absl::StrCat("relay-", i + 1), kRelayPort);
    if (!daemon.ok()) return daemon.status();
    daemon->metrics_port = PortOf(options_.relay_metrics, i);
    relays_.push_back(*std::move(daemon));
  }
  return absl::OkStatus();
}

absl::Status Cluster::LayOutZookeepers() {
  EnsembleOptions ensemble{.folder = folder() + "/zookeeper",
                           .tick_ms = options_.zookeeper_tick_ms,
                           .sync_limit_ticks = options_.sync_limit_ticks};
  for (int i = 0; i < options_.zookeepers; ++i) {
    EnsembleMember member;
    int network_namespace = -1;
    if (options_.network != nullptr) {
      const auto machine = options_.network->Get(absl::StrCat("zookeeper-", i + 1));
      if (!machine.ok()) return machine.status();
      member.host = machine->address;
      network_namespace = machine->network_namespace;
    } else {
      member = {"127.0.0.1", StablePort(), StablePort(), StablePort()};
    }
    ensemble.members.push_back(member);
    ensemble.network_namespaces.push_back(network_namespace);
  }
  zookeepers_ = std::make_unique<Ensemble>(std::move(ensemble));
  return absl::OkStatus();
}

absl::StatusOr<Cluster::Daemon> Cluster::MakeDaemon(const std::string& name,
                                                    const std::string& machine, int port) {
  if (options_.network == nullptr) {
    return Daemon{.name = name, .endpoint = absl::StrCat("127.0.0.1:", StablePort())};
  }
  const auto there = options_.network->Get(machine);
  if (!there.ok()) return there.status();
  return Daemon{.name = name,
                .endpoint = absl::StrCat(there->address, ":", port),
                .network_namespace = there->network_namespace};
}

Cluster::~Cluster() {
  // No good-byes: killed at once, all together, ZooKeeper last.
  for (auto& [name, server] : servers_) server->Kill();
  for (std::vector<Daemon>* daemons : {&relays_, &managers_}) {
    for (Daemon& daemon : *daemons) {
      if (daemon.program) daemon.program->Kill();
    }
  }
  zookeepers_.reset();
  std::error_code ignored;
  if (remove_folder_) std::filesystem::remove_all(options_.folder, ignored);
}

std::string Cluster::Bin(const std::string& program) const {
  return options_.bin_folder + "/" + program;
}

absl::Status Cluster::AwaitAnswer(Program& program, const std::string& endpoint) const {
  const auto channel = security_.Connect(endpoint);
  const auto deadline = std::chrono::system_clock::now() + kStartTimeout;
  while (std::chrono::system_clock::now() < deadline) {
    // In slices, to see a program that ended instead.
    const auto slice = std::chrono::system_clock::now() + std::chrono::milliseconds(100);
    if (channel->WaitForConnected(slice)) return absl::OkStatus();
    if (auto code = program.Wait(std::chrono::milliseconds(0))) {
      return WithLog(absl::AbortedError(absl::StrCat("ended with exit code ", *code)), program);
    }
  }
  return WithLog(absl::DeadlineExceededError(absl::StrCat("no answer at ", endpoint)), program);
}

absl::Status Cluster::StartZookeeper() { return zookeepers_->Start(); }

absl::Status Cluster::StartDaemon(Daemon& daemon, const std::string& kind,
                                  const std::string& program,
                                  const std::vector<std::string>& flags) {
  if (daemon.program == nullptr || daemon.security != security_.changes()) {
    std::vector<std::string> argv = {Bin(program)};
    argv.insert(argv.end(), flags.begin(), flags.end());
    const auto secure = security_.FlagsOf(absl::StrCat(kind, "/", daemon.name));
    argv.insert(argv.end(), secure.begin(), secure.end());
    if (daemon.metrics_port != 0) {
      argv.insert(argv.end(),
                  {"--metrics-listen", absl::StrCat("127.0.0.1:", daemon.metrics_port)});
    }
    daemon.security = security_.changes();
    daemon.program =
        std::make_unique<Program>(daemon.name, std::move(argv), folder(), daemon.network_namespace);
  }
  if (absl::Status status = daemon.program->Start(); !status.ok()) return status;
  return AwaitAnswer(*daemon.program, daemon.endpoint);
}

absl::Status Cluster::StartManager(size_t i, std::string zookeeper,
                                   std::string zookeeper_credentials) {
  if (zookeeper.empty()) zookeeper = zookeeper_endpoint();
  if (zookeeper_credentials.empty()) {
    zookeeper_credentials = options_.zookeeper_credentials;
  } else {
    managers_[i].program.reset();
  }
  return StartDaemon(
      managers_[i], "control-plane", "shardmanagerd",
      {"--cell", options_.cell, "--zookeeper", zookeeper, "--listen", admin_endpoint(i),
       "--session-timeout-ms", std::to_string(options_.session_timeout_ms), "--zookeeper-tick-ms",
       std::to_string(options_.zookeeper_tick_ms), "--zookeeper-credentials", zookeeper_credentials,
       "--history", absl::StrCat(options_.folder, "/history-", i + 1)});
}

absl::Status Cluster::StartControlPlane() { return StartManager(0); }
absl::Status Cluster::StartStandby() { return StartManager(1); }

absl::Status Cluster::StartRelay(size_t i) {
  std::string upstream = i == 0 ? admin_endpoint(0) : discovery_endpoint(i - 1);
  for (int m = 1; i == 0 && m < options_.managers; ++m) {
    absl::StrAppend(&upstream, ",", admin_endpoint(static_cast<size_t>(m)));
  }
  return StartDaemon(relays_[i], "relay", "shard-discoveryd",
                     {"--upstream", upstream, "--listen", discovery_endpoint(i)});
}

absl::Status Cluster::StartDiscovery() { return StartRelay(0); }

absl::Status Cluster::StartServer(ServerOptions options) {
  int network_namespace = -1;
  if (options_.network != nullptr) {
    const auto machine = options_.network->Get(options.machine);
    if (!machine.ok()) return machine.status();
    options.listen = machine->address + ":0";
    network_namespace = machine->network_namespace;
  }
  if (options.zookeeper.empty()) options.zookeeper = zookeeper_endpoint();
  if (options.data.empty()) options.data = data_folder();
  std::vector<std::string> argv = options.program;
  if (argv.empty()) argv.push_back(Bin("kvstore"));
  const std::vector<std::string> flags = {
      "--app",       options_.app,   "--name",          options.name, "--cell",
      options_.cell, "--zookeeper",  options.zookeeper, "--listen",   options.listen,
      "--region",    options.region, "--rack",          options.rack, "--data",
      options.data,  "--datacenter", options.datacenter};
  argv.insert(argv.end(), flags.begin(), flags.end());
  const auto secure = security_.FlagsOf(absl::StrCat("server/", options_.app, "/", options.name));
  argv.insert(argv.end(), secure.begin(), secure.end());
  if (!options.zookeeper_credentials.empty()) {
    argv.insert(argv.end(), {"--zookeeper-credentials", options.zookeeper_credentials});
  }
  auto& server = servers_[options.name];
  server = std::make_unique<Program>(options.name, std::move(argv), folder(), network_namespace);
  return server->Start();
}

absl::Status Cluster::StartCore() {
  if (absl::Status status = StartZookeeper(); !status.ok()) return status;
  if (absl::Status status = StartControlPlane(); !status.ok()) return status;
  if (absl::Status status = admin().AwaitLeading(kStartTimeout); !status.ok()) {
    return WithLog(status, control_plane());
  }
  for (int i = 1; i < options_.managers; ++i) {
    if (absl::Status status = StartManager(static_cast<size_t>(i)); !status.ok()) return status;
  }
  for (size_t i = 0; i < relays_.size(); ++i) {
    if (absl::Status status = StartRelay(i); !status.ok()) return status;
  }
  return absl::OkStatus();
}

std::vector<std::string> Cluster::server_names() const {
  std::vector<std::string> names;
  for (const auto& [name, server] : servers_) names.push_back(name);
  return names;
}

std::chrono::milliseconds Cluster::detection_bound() const {
  // ZooKeeper expires sessions in whole ticks, rounded up.
  return std::chrono::milliseconds(options_.session_timeout_ms + options_.zookeeper_tick_ms);
}

AdminClient Cluster::admin(size_t manager, std::chrono::milliseconds deadline) const {
  return AdminClient(security_.Connect(admin_endpoint(manager)), deadline);
}

std::unique_ptr<MapWatcher> Cluster::WatchMap(const std::string& endpoint) const {
  return std::make_unique<MapWatcher>(
      security_.Connect(endpoint.empty() ? discovery_endpoint() : endpoint), options_.app);
}

std::unique_ptr<EventWatcher> Cluster::WatchEvents(const std::string& endpoint) const {
  return std::make_unique<EventWatcher>(
      security_.Connect(endpoint.empty() ? admin_endpoint() : endpoint), options_.app);
}

Cluster::CommandResult Cluster::Shardctl(std::vector<std::string> arguments,
                                         const std::string& server) const {
  arguments.insert(arguments.begin(), {"--server", server.empty() ? admin_endpoint() : server});
  return Run("shardctl", arguments);
}

Cluster::CommandResult Cluster::Run(const std::string& program,
                                    const std::vector<std::string>& flags) const {
  std::vector<std::string> argv = {Bin(program)};
  argv.insert(argv.end(), flags.begin(), flags.end());
  const auto secure = security_.FlagsOf("admin/test");
  argv.insert(argv.end(), secure.begin(), secure.end());
  std::string output = folder() + "/command-XXXXXX";
  close(mkstemp(output.data()));
  auto process = ChildProcess::Start({.argv = argv, .log_file = output});
  if (!process.ok()) return {.output = std::string(process.status().message())};
  CommandResult result;
  result.exit_code = process->Wait(kCommandTimeout).value_or(-1);
  result.output = ReadFile(output);
  std::filesystem::remove(output);
  return result;
}

std::vector<Program*> Cluster::Programs() const {
  std::vector<Program*> programs;
  for (const std::vector<Daemon>* daemons : {&managers_, &relays_}) {
    for (const Daemon& daemon : *daemons) {
      if (daemon.program) programs.push_back(daemon.program.get());
    }
  }
  for (const auto& [name, server] : servers_) programs.push_back(server.get());
  return programs;
}

std::string Cluster::UnaskedEnds() const {
  std::string ends;
  for (Program* program : Programs()) {
    const std::optional<int> code = program->unasked_end();
    if (!code) continue;
    absl::StrAppend(&ends, program->name(), " ended by itself, with exit code ", *code);
    if (*code > 128) absl::StrAppend(&ends, " (signal ", *code - 128, ")");
    ends += "\n";
  }
  return ends;
}

std::string Cluster::Logs(size_t lines_each) const {
  std::string logs;
  for (const Program* program : Programs()) logs += program->LogTail(lines_each);
  return logs;
}

}  // namespace shardmanager::local
