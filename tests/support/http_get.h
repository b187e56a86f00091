// HTTP requests to this machine, for looks at /metrics.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>

namespace shardmanager::testing {

// A connection to the server on loopback; closed when it goes out of scope.
class Connection {
 public:
  explicit Connection(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Connection() { close(fd_); }
  Connection(const Connection&) = delete;

  bool connected() const { return connected_; }

  bool Send(const std::string& text) const {
    return write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }

  // All that comes until the server closes the connection, or sends nothing for 15 s.
  std::string ReadAll() const {
    const timeval patience{15, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string answer;
    char buffer[4096];
    for (ssize_t n; (n = read(fd_, buffer, sizeof buffer)) > 0;)
      answer.append(buffer, static_cast<size_t>(n));
    return answer;
  }

  // The server neither closes the connection nor sends anything for so long.
  bool StaysIdle(std::chrono::milliseconds for_at_least) const {
    pollfd wanted{.fd = fd_, .events = POLLIN, .revents = 0};
    return poll(&wanted, 1, static_cast<int>(for_at_least.count())) == 0;
  }

  // Whether the server has neither closed the connection nor sent anything so far.
  bool IsIdle() const {
    char byte;
    return recv(fd_, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }

 private:
  int fd_;
  bool connected_ = false;
};

// The whole answer, with its head. "": nobody answers.
inline std::string HttpGet(int port, const std::string& path) {
  const Connection connection(port);
  if (!connection.connected() || !connection.Send("GET " + path + " HTTP/1.0\r\n\r\n")) return "";
  return connection.ReadAll();
}

}  // namespace shardmanager::testing
