// A TCP link that can be broken: 127.0.0.1:<port of its own> to another local port.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace shardmanager {

// Thread-safe.
class TcpProxy {
 public:
  enum class Mode {
    kForward,
    kSwallowAnswers,  // what the server sends is dropped
    kBlackhole,       // nothing passes, nothing breaks; connections made now stay so
    kCut,             // connections are closed, new ones as soon as they come
  };

  explicit TcpProxy(int server_port);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  int port() const { return port_; }
  // Has taken effect when it returns.
  void Set(Mode mode);
  // Connections accepted so far, refused ones not counted. Waits for more than `seen`.
  uint64_t AwaitAccepted(uint64_t seen);
  // Waits until an answer was dropped since the last call of Set().
  void AwaitSwallowed();
  // What the client has sent so far over the connection that was accepted last.
  std::string SentOverTheLast() const;

 private:
  struct Link {
    int client;
    int server;
    bool dead = false;  // since it was made
  };

  void Loop();
  void Accept();
  // False when the link is to be closed.
  bool Forward(int from, int to, bool drop);
  void CloseLinks();
  void Wake();

  const int server_port_;
  int listener_ = -1;
  int port_ = 0;
  int wake_[2] = {-1, -1};
  std::atomic<Mode> mode_{Mode::kForward};
  std::atomic<uint64_t> asked_{0};
  std::atomic<uint64_t> obeyed_{0};
  std::atomic<uint64_t> accepted_{0};
  std::atomic<bool> swallowed_{false};
  std::atomic<bool> stopping_{false};
  std::vector<Link> links_;  // the thread's own
  mutable std::mutex mutex_;
  std::string sent_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace shardmanager
