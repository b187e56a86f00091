// Passes bytes to a port until the test breaks the connections.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace shardmanager::router {

class TcpProxy {
 public:
  explicit TcpProxy(int to_port);
  ~TcpProxy();

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  // All connections break, and no more are taken.
  void BreakConnections();

 private:
  void Accept();
  void Pass(int from, int to);

  const int to_port_;
  int listener_ = -1;
  int port_ = 0;
  std::thread acceptor_;
  std::mutex mutex_;
  bool broken_ = false;
  std::vector<int> sockets_;
  std::vector<std::thread> passers_;
};

}  // namespace shardmanager::router
