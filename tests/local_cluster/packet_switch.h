// Carries IP packets between machines, and on the way delays and loses them as told.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/time.h"

namespace shardmanager::local {

// What happens to packets in one direction between two machines.
struct Link {
  bool cut = false;
  std::chrono::milliseconds delay{0};
  double loss = 0;  // of all packets, 0 to 1
};

// A machine is a TUN device: what its programs send can be read from the file, what is
// written to the file comes in there. The machine at port i has the last byte i + 1 in
// its IPv4 address. Thread-safe, but for its making.
class PacketSwitch {
 public:
  static constexpr size_t kMaxPorts = 250;

  // Owns the files.
  explicit PacketSwitch(uint64_t seed);
  ~PacketSwitch();

  // Connects a machine. The port: ascending from 0.
  size_t Connect(int tun);

  void Set(size_t from, size_t to, const Link& link);

 private:
  struct Packet {
    TimePoint due;
    uint64_t number;  // keeps the order of packets due at once
    size_t to;
    std::string bytes;
  };
  struct Later {
    bool operator()(const Packet& a, const Packet& b) const {
      return a.due != b.due ? a.due > b.due : a.number > b.number;
    }
  };

  void Run();
  void Receive(size_t from);
  void Route(size_t from, std::string_view packet);
  void SendDue();
  int TimeoutMs() const;

  const int epoll_;
  const int stop_;
  std::mutex mutex_;
  std::vector<int> tuns_;
  std::vector<std::vector<Link>> links_;  // [from][to]
  Random random_;
  uint64_t packets_ = 0;
  std::priority_queue<Packet, std::vector<Packet>, Later> delayed_;
  std::thread thread_;
};

}  // namespace shardmanager::local
