#include "coordination/zookeeper/private_zookeeper.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

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
std::vector<std::string> CommandLine(const fs::path& data_dir, bool force_sync) {
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
          "org.apache.zookeeper.server.ZooKeeperServerMain",
          (data_dir / "zoo.cfg").string()};
}

// What whoever listens on 127.0.0.1:`port` says to "srvr"; empty if nobody does. Not
// "ruok": that is answered "imok" before sessions are accepted.
std::string AskServer(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // A connection that comes while ZooKeeper starts may stay unanswered for ever.
  const timeval limit{.tv_sec = 0, .tv_usec = 200'000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
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

bool Serves(int port) { return AskServer(port).find("\nMode: ") != std::string::npos; }

std::string Tail(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return text.size() <= kLogTailBytes ? text : text.substr(text.size() - kLogTailBytes);
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
  return absl::StrCat("127.0.0.1:", options_.port);
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
  // Somebody else's ZooKeeper on this port would pass for ours below.
  if (!AskServer(options_.port).empty()) {
    return absl::UnavailableError(
        absl::StrFormat("port %d is taken by another process", options_.port));
  }
  auto process = ChildProcess::Start({.argv = CommandLine(options_.data_dir, options_.force_sync),
                                      .environment = {},
                                      .log_file = LogFile(options_.data_dir).string()});
  if (!process.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(process.status().message(),
                     "; ZooKeeper needs java (apt-get install default-jre-headless)"));
  }
  process_ = *std::move(process);
  return WaitUntilServing();
}

absl::Status PrivateZookeeper::WriteConfig() const {
  const fs::path file = fs::path(options_.data_dir) / "zoo.cfg";
  std::ofstream out(file);
  out << "tickTime=" << options_.tick_ms << "\n"
      << "minSessionTimeout=" << 2 * options_.tick_ms << "\n"
      << "maxSessionTimeout=60000\n"
      << "dataDir=" << options_.data_dir << "\n"
      << "clientPort=" << options_.port << "\n"
      << "clientPortAddress=127.0.0.1\n"
      << "standaloneEnabled=true\n"
      << "admin.enableServer=false\n"
      << "maxClientCnxns=0\n"
      << "4lw.commands.whitelist=ruok,srvr\n"
      << "autopurge.snapRetainCount=3\n"
      << "autopurge.purgeInterval=1\n";
  out.close();
  if (out) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("cannot write ", file.string()));
}

absl::Status PrivateZookeeper::WaitUntilServing() {
  const auto deadline = std::chrono::steady_clock::now() + kStartLimit;
  while (std::chrono::steady_clock::now() < deadline) {
    if (Serves(options_.port)) return absl::OkStatus();
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
