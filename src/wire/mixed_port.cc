#include "wire/mixed_port.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/endpoint.h"
#include "runtime/logging.h"

namespace shardmanager::wire {
namespace {

using Clock = std::chrono::steady_clock;

// Of connections that have not said anything yet.
constexpr size_t kMostWaiting = 1'024;
constexpr std::chrono::seconds kPatience{10};
constexpr char kTlsHandshake = 22;

struct Waiting {
  int connection;
  Clock::time_point until;
};

int BindTo(const addrinfo& info) {
  const int listener = socket(info.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener < 0) return -1;
  const int on = 1, off = 0;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (info.ai_family == AF_INET6) {
    setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (bind(listener, info.ai_addr, info.ai_addrlen) == 0 && listen(listener, SOMAXCONN) == 0) {
    return listener;
  }
  close(listener);
  return -1;
}

// Negative: it cannot be listened there.
int ListenTo(const std::string& address) {
  auto [host, port] = SplitEndpoint(address);
  if (port.empty()) return -1;
  if (host == "*") host.clear();
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &wanted, &found) != 0) {
    return -1;
  }
  int listener = -1;
  for (const addrinfo* info = found; info != nullptr && listener < 0; info = info->ai_next) {
    listener = BindTo(*info);
  }
  freeaddrinfo(found);
  return listener;
}

int PortOf(int listener) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

}  // namespace

std::unique_ptr<MixedPort> MixedPort::Listen(const std::string& address,
                                             std::shared_ptr<grpc::ServerCredentials> secure,
                                             std::shared_ptr<grpc::ServerCredentials> plain,
                                             grpc::ServerBuilder& builder, int* port) {
  if (port != nullptr) *port = 0;
  const int listener = ListenTo(address);
  if (listener < 0) return nullptr;
  const int wake = eventfd(0, EFD_CLOEXEC);
  if (port != nullptr) *port = PortOf(listener);
  constexpr auto kFromFd = grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD;
  auto acceptor = [&](std::shared_ptr<grpc::ServerCredentials> credentials) {
    return builder.experimental().AddExternalConnectionAcceptor(kFromFd, std::move(credentials));
  };
  Acceptor with = acceptor(std::move(secure));
  Acceptor without = acceptor(std::move(plain));
  return std::unique_ptr<MixedPort>(
      new MixedPort(listener, wake, std::move(with), std::move(without)));
}

MixedPort::MixedPort(int listener, int wake, Acceptor secure, Acceptor plain)
    : listener_(listener), wake_(wake), secure_(std::move(secure)), plain_(std::move(plain)) {}

MixedPort::~MixedPort() {
  const uint64_t one = 1;
  if (write(wake_, &one, sizeof one) < 0) LogError("a port cannot be closed: errno {}", errno);
  if (thread_.joinable()) thread_.join();
  close(listener_);
  close(wake_);
}

void MixedPort::Begin() {
  thread_ = std::thread([this] { Take(); });
}

void MixedPort::Take() {
  std::vector<Waiting> waiting;
  for (;;) {
    std::vector<pollfd> events = {{wake_, POLLIN, 0}};
    events.push_back(
        {listener_, static_cast<short>(waiting.size() < kMostWaiting ? POLLIN : 0), 0});
    for (const Waiting& one : waiting) events.push_back({one.connection, POLLIN, 0});
    poll(events.data(), events.size(), waiting.empty() ? -1 : 1'000);
    if (events[0].revents != 0) break;
    const Clock::time_point now = Clock::now();
    std::vector<Waiting> left;
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (events[i + 2].revents != 0) {
        HandOver(waiting[i].connection);
      } else if (now >= waiting[i].until) {
        close(waiting[i].connection);
      } else {
        left.push_back(waiting[i]);
      }
    }
    waiting = std::move(left);
    if (events[1].revents == 0) continue;
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (connection >= 0) waiting.push_back({connection, now + kPatience});
  }
  for (const Waiting& one : waiting) close(one.connection);
}

void MixedPort::HandOver(int connection) {
  char first = 0;
  if (recv(connection, &first, 1, MSG_PEEK) != 1) {
    close(connection);
    return;
  }
  const int on = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.listener_fd = listener_;
  parameters.fd = connection;
  (first == kTlsHandshake ? secure_ : plain_)->HandleNewConnection(&parameters);
}

}  // namespace shardmanager::wire
