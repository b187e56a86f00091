#include "cluster.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ports.h"

namespace shardmanager::local {
namespace {

constexpr std::chrono::seconds kStartTimeout{20};
constexpr std::chrono::seconds kCommandTimeout{60};

std::shared_ptr<grpc::Channel> Connect(const std::string& endpoint) {
  grpc::ChannelArguments arguments;
  // Processes come and go here: look again soon.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), arguments);
}

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

}  // namespace

Cluster::Cluster(ClusterOptions options) : options_(std::move(options)) {
  zookeeper_port_ = StablePort();
  admin_endpoint_ = absl::StrCat("127.0.0.1:", StablePort());
  standby_endpoint_ = absl::StrCat("127.0.0.1:", StablePort());
  discovery_endpoint_ = absl::StrCat("127.0.0.1:", StablePort());
}

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
  return cluster;
}

Cluster::~Cluster() {
  // No good-byes: killed at once, all together, ZooKeeper last.
  for (auto& [name, server] : servers_) server->Kill();
  if (discovery_) discovery_->Kill();
  if (standby_) standby_->Kill();
  if (control_plane_) control_plane_->Kill();
  zookeeper_.reset();
  std::error_code ignored;
  if (remove_folder_) std::filesystem::remove_all(options_.folder, ignored);
}

std::string Cluster::Bin(const std::string& program) const {
  return options_.bin_folder + "/" + program;
}

absl::Status Cluster::AwaitAnswer(Program& program, const std::string& endpoint) const {
  const auto channel = Connect(endpoint);
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

std::string Cluster::zookeeper_endpoint() const {
  return absl::StrCat("127.0.0.1:", zookeeper_port_);
}

absl::Status Cluster::StartZookeeper() {
  if (zookeeper_ != nullptr) return zookeeper_->Restart();
  auto zookeeper = PrivateZookeeper::Start({.data_dir = folder() + "/zookeeper",
                                            .port = zookeeper_port_,
                                            .tick_ms = options_.zookeeper_tick_ms});
  if (!zookeeper.ok()) return zookeeper.status();
  zookeeper_ = *std::move(zookeeper);
  return absl::OkStatus();
}

absl::Status Cluster::StartManager(std::unique_ptr<Program>& program, const char* name,
                                   const std::string& listen) {
  if (program == nullptr) {
    program = std::make_unique<Program>(
        name,
        std::vector<std::string>{Bin("shardmanagerd"), "--cell", options_.cell, "--zookeeper",
                                 zookeeper_endpoint(), "--listen", listen, "--session-timeout-ms",
                                 std::to_string(options_.session_timeout_ms), "--zookeeper-tick-ms",
                                 std::to_string(options_.zookeeper_tick_ms)},
        folder());
  }
  if (absl::Status status = program->Start(); !status.ok()) return status;
  return AwaitAnswer(*program, listen);
}

absl::Status Cluster::StartControlPlane() {
  return StartManager(control_plane_, "shardmanagerd", admin_endpoint_);
}

absl::Status Cluster::StartStandby() {
  return StartManager(standby_, "shardmanagerd-standby", standby_endpoint_);
}

absl::Status Cluster::StartDiscovery() {
  if (discovery_ == nullptr) {
    discovery_ = std::make_unique<Program>(
        "shard-discoveryd",
        std::vector<std::string>{Bin("shard-discoveryd"), "--upstream", admin_endpoint_, "--listen",
                                 discovery_endpoint_},
        folder());
  }
  if (absl::Status status = discovery_->Start(); !status.ok()) return status;
  return AwaitAnswer(*discovery_, discovery_endpoint_);
}

absl::Status Cluster::StartServer(const ServerOptions& options) {
  std::vector<std::string> argv = options.program;
  if (argv.empty()) argv.push_back(Bin("kvstore"));
  const std::vector<std::string> flags = {
      "--app",        options_.app,      "--name",      options.name,
      "--cell",       options_.cell,     "--zookeeper", zookeeper_endpoint(),
      "--listen",     options.listen,    "--region",    options.region,
      "--rack",       options.rack,      "--data",      data_folder(),
      "--datacenter", options.datacenter};
  argv.insert(argv.end(), flags.begin(), flags.end());
  auto& server = servers_[options.name];
  server = std::make_unique<Program>(options.name, std::move(argv), folder());
  return server->Start();
}

absl::Status Cluster::StartCore() {
  if (absl::Status status = StartZookeeper(); !status.ok()) return status;
  if (absl::Status status = StartControlPlane(); !status.ok()) return status;
  if (absl::Status status = admin().AwaitLeading(kStartTimeout); !status.ok()) {
    return WithLog(status, *control_plane_);
  }
  return StartDiscovery();
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

AdminClient Cluster::admin() const { return AdminClient(Connect(admin_endpoint_)); }

std::unique_ptr<MapWatcher> Cluster::WatchMap(const std::string& endpoint) const {
  return std::make_unique<MapWatcher>(Connect(endpoint), options_.app);
}

std::unique_ptr<EventWatcher> Cluster::WatchEvents(const std::string& endpoint) const {
  return std::make_unique<EventWatcher>(Connect(endpoint), options_.app);
}

Cluster::CommandResult Cluster::Shardctl(std::vector<std::string> arguments,
                                         const std::string& server) const {
  std::string output = folder() + "/shardctl-XXXXXX";
  close(mkstemp(output.data()));
  std::vector<std::string> argv = {Bin("shardctl"), "--server",
                                   server.empty() ? admin_endpoint_ : server};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  auto process = ChildProcess::Start({.argv = argv, .log_file = output});
  if (!process.ok()) return {.output = std::string(process.status().message())};
  CommandResult result;
  result.exit_code = process->Wait(kCommandTimeout).value_or(-1);
  result.output = ReadFile(output);
  std::filesystem::remove(output);
  return result;
}

std::string Cluster::Logs(size_t lines_each) const {
  std::string logs;
  if (control_plane_) logs += control_plane_->LogTail(lines_each);
  if (standby_) logs += standby_->LogTail(lines_each);
  if (discovery_) logs += discovery_->LogTail(lines_each);
  for (const auto& [name, server] : servers_) logs += server->LogTail(lines_each);
  return logs;
}

}  // namespace shardmanager::local
