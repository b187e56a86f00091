#include "coordination/zookeeper/ensemble_watch.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/endpoint.h"

namespace shardmanager {
namespace {

using Clock = std::chrono::steady_clock;

// More is not an answer to `srvr`.
constexpr size_t kMostBytes = 64 << 10;

v1::ZookeeperMember Silent(const std::string& endpoint, std::string why) {
  v1::ZookeeperMember member;
  member.set_endpoint(endpoint);
  member.set_state("silent");
  member.set_reason(std::move(why));
  return member;
}

bool WaitFor(int socket, short events, Clock::time_point until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
  pollfd one{.fd = socket, .events = events, .revents = 0};
  return left.count() > 0 && poll(&one, 1, static_cast<int>(left.count())) > 0;
}

// "": it is connected.
std::string Connect(int socket, const addrinfo& address, Clock::time_point until) {
  if (connect(socket, address.ai_addr, address.ai_addrlen) == 0) return "";
  if (errno != EINPROGRESS) return std::strerror(errno);
  if (!WaitFor(socket, POLLOUT, until)) return "no connection in time";
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? "" : std::strerror(error);
}

v1::ZookeeperMember AskAt(const std::string& endpoint, const addrinfo& address) {
  const Clock::time_point until = Clock::now() + EnsembleWatch::kPatience;
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return Silent(endpoint, std::strerror(errno));
  const absl::Cleanup close_it = [fd] { close(fd); };
  if (std::string why = Connect(fd, address, until); !why.empty()) return Silent(endpoint, why);
  if (send(fd, "srvr", 4, MSG_NOSIGNAL) != 4) return Silent(endpoint, std::strerror(errno));
  std::string answer;
  char buffer[4096];
  while (answer.size() < kMostBytes && WaitFor(fd, POLLIN, until)) {
    const ssize_t n = recv(fd, buffer, sizeof buffer, 0);
    if (n < 0) return Silent(endpoint, std::strerror(errno));
    if (n == 0) return ParseSrvr(endpoint, answer);
    answer.append(buffer, static_cast<size_t>(n));
  }
  return Silent(endpoint, "it is connected, and does not answer in time");
}

v1::ZookeeperMember Ask(const std::string& endpoint) {
  const auto [host, port] = SplitEndpoint(endpoint);
  if (port.empty()) return Silent(endpoint, "it names no port");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return Silent(endpoint, gai_strerror(error));
  }
  const absl::Cleanup free_it = [found] { freeaddrinfo(found); };
  v1::ZookeeperMember member;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    member = AskAt(endpoint, *address);
    if (member.state() != "silent") break;
  }
  return member;
}

// The second of "min/avg/max".
double AverageOf(absl::string_view latencies) {
  const std::vector<absl::string_view> parts = absl::StrSplit(latencies, '/');
  double average = 0;
  return parts.size() == 3 && absl::SimpleAtod(parts[1], &average) ? average : 0;
}

}  // namespace

v1::ZookeeperMember ParseSrvr(const std::string& endpoint, const std::string& answer) {
  v1::ZookeeperMember member;
  member.set_endpoint(endpoint);
  member.set_state("unknown");
  if (absl::StrContains(answer, "is not currently serving requests")) {
    member.set_state("no quorum");
    member.set_reason("it serves no requests: most of the ensemble is out of its reach");
    return member;
  }
  for (absl::string_view line : absl::StrSplit(answer, '\n')) {
    if (absl::ConsumePrefix(&line, "Mode: ")) member.set_state(std::string(line));
    if (absl::ConsumePrefix(&line, "Latency min/avg/max: ")) member.set_latency_ms(AverageOf(line));
    uint32_t connections = 0;
    if (absl::ConsumePrefix(&line, "Connections: ") && absl::SimpleAtoi(line, &connections)) {
      member.set_connections(connections);
    }
    if (absl::ConsumePrefix(&line, "Zookeeper version: ")) {
      member.set_version(std::string(line.substr(0, line.find_first_of("-,"))));
    }
  }
  if (member.state() == "unknown") {
    member.set_reason(
        answer.empty() ? "it closed the connection: is `srvr` in its 4lw.commands.whitelist?"
                       : absl::StrCat("its answer to srvr is not understood: ",
                                      answer.substr(0, std::min<size_t>(60, answer.find('\n')))));
  }
  return member;
}

EnsembleWatch::EnsembleWatch(const std::string& servers)
    : endpoints_(EndpointList(servers.substr(0, servers.find('/')))) {
  for (const std::string& endpoint : endpoints_) {
    v1::ZookeeperMember& member = members_.emplace_back();
    member.set_endpoint(endpoint);
    member.set_state("unknown");
    member.set_reason("it was not asked yet");
  }
  thread_ = std::thread([this] { Watch(); });
}

EnsembleWatch::~EnsembleWatch() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::vector<v1::ZookeeperMember> EnsembleWatch::Members() const {
  std::lock_guard lock(mutex_);
  return members_;
}

void EnsembleWatch::Watch() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    for (size_t i = 0; i < endpoints_.size() && !stop_; ++i) {
      lock.unlock();
      v1::ZookeeperMember member = Ask(endpoints_[i]);
      lock.lock();
      members_[i] = std::move(member);
    }
    wake_.wait_for(lock, kPeriod, [this] { return stop_; });
  }
}

}  // namespace shardmanager
