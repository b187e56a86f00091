// The C client's log, tamed: while ZooKeeper is away it writes many lines a second.
#pragma once

#include <string>

namespace shardmanager {

// To be passed to zookeeper_init2. Lines go to the log at level debug, a few per
// second; the rest are counted. Thread-safe.
void OnZookeeperLog(const char* message);

// The latest complaint of any C client in this process, without its time stamp and
// source position; empty if there was none.
std::string LatestZookeeperComplaint();

}  // namespace shardmanager
