#include "coordination/zookeeper/private_zookeeper.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shardmanager {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJars[] = {"/usr/share/java/zookeeper.jar",
                                 "/usr/share/java/slf4j-simple.jar"};
// It takes about 0.3 s; a busy machine may need longer.
constexpr std::chrono::milliseconds kStartLimit{30'000};
constexpr std::chrono::milliseconds kStopLimit{5'000};
constexpr std::chrono::milliseconds kBetweenProbes{10};
// A port that was free may be taken before ZooKeeper binds it.
constexpr int kPortAttempts = 5;
constexpr size_t kLogTailBytes = 2'000;
// What a follower gets to join its leader, on a busy machine.
constexpr int kInitLimitTicks = 50;

absl::Status CheckInstalled() {
  for (const char* jar : kJars) {
    std::error_code error;
    if (!fs::exists(jar, error)) {
      return absl::FailedPreconditionError(absl::StrCat(
          jar, " is missing: install ZooKeeper (apt-get install zookeeper libslf4j-java)"));
    }
  }
  return absl::OkStatus();
}

// Small and quick to start rather than fast in the long run. zookeeper.jar names the
// other jars that it needs in its manifest.
std::vector<std::string> CommandLine(const fs::path& data_dir, bool force_sync, bool alone) {
  return {"java",
          "-XX:TieredStopAtLevel=1",
          "-XX:+UseSerialGC",
          "-Xshare:auto",
          "-Xms16m",
          "-Xmx256m",
          "-XX:+ExitOnOutOfMemoryError",
          "-Djava.net.preferIPv4Stack=true",
          "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
          "-Dorg.slf4j.simpleLogger.showDateTime=true",
          "-Dzookeeper.jmx.log4j.disable=true",
          absl::StrCat("-Dzookeeper.forceSync=", force_sync ? "yes" : "no"),
          "-cp",
          absl::StrCat(kJars[0], ":", kJars[1]),
          alone ? "org.apache.zookeeper.server.ZooKeeperServerMain"
                : "org.apache.zookeeper.server.quorum.QuorumPeerMain",
          (data_dir / "zoo.cfg").string()};
}

// What whoever listens there says to "srvr"; empty if nobody does. Not "ruok": that is
// answered "imok" before sessions are accepted.
std::string AskServer(const std::string& host, int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // A connection that comes while ZooKeeper starts may stay unanswered for ever.
  const timeval limit{.tv_sec = 0, .tv_usec = 200'000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // of connect, too
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  std::string answer(1'000, '\0');  // it says less
  ssize_t n = 0;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      send(fd, "srvr", 4, MSG_NOSIGNAL) == 4) {
    n = recv(fd, answer.data(), answer.size(), MSG_WAITALL);
  }
  close(fd);
  answer.resize(n > 0 ? n : 0);
  return answer;
}

std::string Tail(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return text.size() <= kLogTailBytes ? text : text.substr(text.size() - kLogTailBytes);
}

// A server of an ensemble knows itself by the number in its file "myid".
void WriteEnsemble(const PrivateZookeeperOptions& options, std::ostream& config) {
  config << "syncLimit=" << options.sync_limit_ticks << "\n"
         << "initLimit=" << std::max(options.sync_limit_ticks, kInitLimitTicks) << "\n";
  for (size_t i = 0; i < options.ensemble.size(); ++i) {
    const EnsembleMember& member = options.ensemble[i];
    config << "server." << i + 1 << "=" << member.host << ":" << member.follower_port << ":"
           << member.election_port << "\n";
  }
  std::ofstream(fs::path(options.data_dir) / "myid") << options.self + 1 << "\n";
}

fs::path LogFile(const fs::path& data_dir) { return data_dir / "zookeeper.log"; }

}  // namespace

absl::StatusOr<std::unique_ptr<PrivateZookeeper>> PrivateZookeeper::Start(
    PrivateZookeeperOptions options) {
  if (absl::Status installed = CheckInstalled(); !installed.ok()) return installed;
  std::error_code error;
  options.data_dir = fs::absolute(options.data_dir, error).string();
  fs::create_directories(options.data_dir, error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot make the folder ", options.data_dir, ": ", error.message()));
  }
  if (!options.ensemble.empty()) options.port = options.ensemble[options.self].client_port;
  const bool any_port = options.port == 0;
  std::unique_ptr<PrivateZookeeper> zookeeper(new PrivateZookeeper(std::move(options)));
  absl::Status launched;
  for (int attempt = 0; attempt < (any_port ? kPortAttempts : 1); ++attempt) {
    if (any_port) zookeeper->options_.port = FreePort();
    launched = zookeeper->Launch();
    if (launched.code() != absl::StatusCode::kUnavailable) break;
  }
  if (!launched.ok()) return launched;
  return zookeeper;
}

std::string PrivateZookeeper::connect_string() const {
  return absl::StrCat(host(), ":", options_.port);
}

const std::string& PrivateZookeeper::host() const {
  static const std::string kLoopback = "127.0.0.1";
  return options_.ensemble.empty() ? kLoopback : options_.ensemble[options_.self].host;
}

std::string PrivateZookeeper::Mode() const {
  constexpr std::string_view kLabel = "\nMode: ";
  const std::string answer = AskServer(host(), options_.port);
  const size_t label = answer.find(kLabel);
  if (label == std::string::npos) return "";
  const size_t begin = label + kLabel.size();
  return answer.substr(begin, answer.find('\n', begin) - begin);
}

void PrivateZookeeper::Stop() { process_.Stop(kStopLimit); }

void PrivateZookeeper::Kill() {
  process_.Signal(SIGKILL);
  process_.Wait(kStopLimit);
}

absl::Status PrivateZookeeper::Restart() {
  if (process_.running()) Stop();
  return Launch();
}

void PrivateZookeeper::Pause() { process_.Signal(SIGSTOP); }
void PrivateZookeeper::Resume() { process_.Signal(SIGCONT); }

absl::Status PrivateZookeeper::Launch() {
  if (absl::Status written = WriteConfig(); !written.ok()) return written;
  const bool alone = options_.ensemble.empty();
  // Somebody else's ZooKeeper on this port would pass for ours below.
  if (alone && !AskServer(host(), options_.port).empty()) {
    return absl::UnavailableError(
        absl::StrFormat("port %d is taken by another process", options_.port));
  }
  auto process =
      ChildProcess::Start({.argv = CommandLine(options_.data_dir, options_.force_sync, alone),
                           .environment = {},
                           .log_file = LogFile(options_.data_dir).string(),
                           .network_namespace = options_.network_namespace});
  if (!process.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(process.status().message(),
                     "; ZooKeeper needs java (apt-get install default-jre-headless)"));
  }
  process_ = *std::move(process);
  return alone ? AwaitServing() : absl::OkStatus();
}

absl::Status PrivateZookeeper::WriteConfig() const {
  const fs::path file = fs::path(options_.data_dir) / "zoo.cfg";
  std::ofstream out(file);
  out << "tickTime=" << options_.tick_ms << "\n"
      << "dataDir=" << options_.data_dir << "\n"
      << "clientPort=" << options_.port << "\n"
      << "clientPortAddress=" << host() << "\n"
      << "standaloneEnabled=true\n"
      << "admin.enableServer=false\n"
      << "maxClientCnxns=0\n"
      << "4lw.commands.whitelist=ruok,srvr\n"
      << "autopurge.snapRetainCount=3\n"
      << "autopurge.purgeInterval=1\n";
  if (options_.max_session_timeout_ms != 0) {
    out << "maxSessionTimeout=" << options_.max_session_timeout_ms << "\n";
  }
  if (!options_.ensemble.empty()) WriteEnsemble(options_, out);
  out.close();
  if (out) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("cannot write ", file.string()));
}

absl::Status PrivateZookeeper::AwaitServing() {
  const auto deadline = std::chrono::steady_clock::now() + kStartLimit;
  while (std::chrono::steady_clock::now() < deadline) {
    if (!Mode().empty()) return absl::OkStatus();
    if (auto code = process_.Wait(kBetweenProbes)) {
      return absl::UnavailableError(
          absl::StrFormat("ZooKeeper ended with code %d; its log ends:\n%s", *code,
                          Tail(LogFile(options_.data_dir))));
    }
  }
  Kill();
  return absl::UnavailableError(absl::StrFormat(
      "ZooKeeper did not answer on port %d within %d s; its log ends:\n%s", options_.port,
      kStartLimit.count() / 1'000, Tail(LogFile(options_.data_dir))));
}

}  // namespace shardmanager
