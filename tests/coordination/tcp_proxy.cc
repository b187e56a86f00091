#include "tests/coordination/tcp_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace shardmanager {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

TcpProxy::TcpProxy(int server_port) : server_port_(server_port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 64) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      pipe2(wake_, O_CLOEXEC) != 0) {
    abort();
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Loop(); });
}

TcpProxy::~TcpProxy() {
  stopping_ = true;
  Wake();
  thread_.join();
  CloseLinks();
  close(listener_);
  close(wake_[0]);
  close(wake_[1]);
}

void TcpProxy::Set(Mode mode) {
  swallowed_ = false;
  mode_ = mode;
  const uint64_t ticket = ++asked_;
  Wake();
  for (uint64_t seen = obeyed_; seen < ticket; seen = obeyed_) obeyed_.wait(seen);
}

void TcpProxy::AwaitSwallowed() { swallowed_.wait(false); }

uint64_t TcpProxy::AwaitAccepted(uint64_t seen) {
  accepted_.wait(seen);
  return accepted_;
}

std::string TcpProxy::SentOverTheLast() const {
  const std::lock_guard lock(mutex_);
  return sent_;
}

void TcpProxy::Wake() {
  if (write(wake_[1], "w", 1) != 1) abort();
}

void TcpProxy::Loop() {
  while (!stopping_) {
    const uint64_t asked = asked_;
    const Mode mode = mode_;
    if (mode == Mode::kCut) CloseLinks();
    obeyed_ = asked;
    obeyed_.notify_all();

    std::vector<pollfd> fds = {{wake_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
    std::vector<Link> links = links_;
    std::erase_if(links, [&](const Link& l) { return l.dead || mode == Mode::kBlackhole; });
    for (const Link& link : links) {
      fds.push_back({link.client, POLLIN, 0});
      fds.push_back({link.server, POLLIN, 0});
    }
    poll(fds.data(), fds.size(), -1);
    char byte;
    if (fds[0].revents != 0 && read(wake_[0], &byte, 1) == 1) continue;  // the mode may differ
    if (fds[1].revents != 0) Accept();
    for (size_t i = 0; i < links.size(); ++i) {
      const Link link = links[i];
      bool open = true;
      if (fds[2 + 2 * i].revents != 0) open = Forward(link.client, link.server, false);
      if (open && fds[3 + 2 * i].revents != 0) {
        open = Forward(link.server, link.client, mode == Mode::kSwallowAnswers);
      }
      if (open) continue;
      close(link.client);
      close(link.server);
      std::erase_if(links_, [&](const Link& l) { return l.client == link.client; });
    }
  }
}

void TcpProxy::Accept() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(server_port_);
  if (mode_ == Mode::kCut ||
      connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(client);
    close(server);
    return;
  }
  const int on = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  links_.push_back({client, server, mode_ == Mode::kBlackhole});
  {
    const std::lock_guard lock(mutex_);
    sent_.clear();
  }
  ++accepted_;
  accepted_.notify_all();
}

bool TcpProxy::Forward(int from, int to, bool drop) {
  char buffer[64 << 10];
  const ssize_t n = recv(from, buffer, sizeof buffer, 0);
  if (n <= 0) return false;
  if (drop) {
    swallowed_ = true;
    swallowed_.notify_all();
  }
  for (ssize_t sent = 0; !drop && sent < n;) {
    const ssize_t m = send(to, buffer + sent, n - sent, MSG_NOSIGNAL);
    if (m <= 0) return false;
    sent += m;
  }
  if (!links_.empty() && from == links_.back().client) {
    const std::lock_guard lock(mutex_);
    sent_.append(buffer, n);
  }
  return true;
}

void TcpProxy::CloseLinks() {
  for (const Link& link : links_) {
    close(link.client);
    close(link.server);
  }
  links_.clear();
}

}  // namespace shardmanager
