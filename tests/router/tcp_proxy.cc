#include "tests/router/tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"

namespace shardmanager::router {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

}  // namespace

TcpProxy::TcpProxy(int to_port) : to_port_(to_port) {
  listener_ = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  SM_CHECK(bind(listener_, generic, size) == 0, "a free port is there");
  SM_CHECK(listen(listener_, 16) == 0, "it listens");
  SM_CHECK(getsockname(listener_, generic, &size) == 0, "it has a port");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

TcpProxy::~TcpProxy() {
  BreakConnections();
  acceptor_.join();
  for (std::thread& passer : passers_) passer.join();
  for (int socket : sockets_) close(socket);
  close(listener_);
}

void TcpProxy::BreakConnections() {
  std::lock_guard lock(mutex_);
  broken_ = true;
  shutdown(listener_, SHUT_RDWR);
  for (int socket : sockets_) shutdown(socket, SHUT_RDWR);
}

void TcpProxy::Accept() {
  for (;;) {
    const int client = accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    const int server = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = Loopback(to_port_);
    std::lock_guard lock(mutex_);
    sockets_.push_back(client);
    sockets_.push_back(server);
    if (broken_ ||
        connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      shutdown(client, SHUT_RDWR);
      continue;
    }
    passers_.emplace_back([=, this] { Pass(client, server); });
    passers_.emplace_back([=, this] { Pass(server, client); });
  }
}

void TcpProxy::Pass(int from, int to) {
  char bytes[4096];
  for (;;) {
    const ssize_t got = recv(from, bytes, sizeof bytes, 0);
    if (got <= 0) break;
    if (send(to, bytes, static_cast<size_t>(got), MSG_NOSIGNAL) != got) break;
  }
  shutdown(from, SHUT_RDWR);
  shutdown(to, SHUT_RDWR);
}

}  // namespace shardmanager::router
