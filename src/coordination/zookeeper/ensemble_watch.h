// How the servers of a ZooKeeper ensemble are, each asked by itself: a client is connected to one
// of them and cannot tell. For people and metrics; nothing is decided by it.
//
// Each server is sent the four-letter word `srvr` (ZooKeeper administrator's guide, "The Four
// Letter Words"), which is allowed by default, every few seconds.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "shardmanager/v1/admin.pb.h"

namespace shardmanager {

// Thread-safe. Has a thread of its own, which waits at most kPatience for each server.
class EnsembleWatch {
 public:
  static constexpr std::chrono::milliseconds kPeriod{5'000};
  static constexpr std::chrono::milliseconds kPatience{1'000};

  // `servers`: "host:port[,host:port...]", perhaps with a path behind them, as ZooKeeper's clients
  // take it.
  explicit EnsembleWatch(const std::string& servers);
  ~EnsembleWatch();

  // In the order of `servers`. Before the first answers: "unknown".
  std::vector<v1::ZookeeperMember> Members() const;

 private:
  void Watch();

  const std::vector<std::string> endpoints_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::vector<v1::ZookeeperMember> members_;
  std::thread thread_;
};

// What the answer to `srvr` says. Unknown words are passed over; an answer that says nothing of a
// state is "unknown".
v1::ZookeeperMember ParseSrvr(const std::string& endpoint, const std::string& answer);

}  // namespace shardmanager
