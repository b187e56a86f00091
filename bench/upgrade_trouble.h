// A machine that is busy with something else, and a ZooKeeper that stops now and then, as under
// garbage collection or behind a slow disk.
#pragma once

#include <thread>
#include <vector>

#include "coordination/zookeeper/private_zookeeper.h"

namespace shardmanager {

// From its making until its end, which lets ZooKeeper go on: a busy loop for each core, and
// ZooKeeper stopped (SIGSTOP) for 1.6 s at random times. A lease at a session of 2 s and ticks
// of 200 ms lasts 1.58 s, and the session outlives that by 0.4 s.
class UpgradeTrouble {
 public:
  // Nobody else may use `zookeeper` meanwhile.
  explicit UpgradeTrouble(PrivateZookeeper& zookeeper);
  ~UpgradeTrouble();
  UpgradeTrouble(const UpgradeTrouble&) = delete;
  UpgradeTrouble& operator=(const UpgradeTrouble&) = delete;

 private:
  void StopAndGo(const std::stop_token& stop);

  PrivateZookeeper& zookeeper_;
  std::vector<std::jthread> threads_;
};

}  // namespace shardmanager
