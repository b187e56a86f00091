// All processes of a cluster, to be broken alike.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager::testing {

struct Process {
  std::string name;
  std::string machine;  // of the network, if there is one
  bool is_server = false;
  std::function<absl::Status()> start;  // does not wait until it answers
  std::function<void()> kill;           // SIGKILL
  std::function<void()> pause;          // SIGSTOP
  std::function<void()> resume;         // SIGCONT
  std::function<int()> terminate;       // SIGTERM, and waits: the exit code
  // Nothing while it runs; else how it ended.
  std::function<std::optional<int>()> ended;
};

// REQUIRES: all of the cluster was started once. Pointers stay good while it lives.
struct Fleet {
  // `machine_of` a server, by its name.
  Fleet(local::Cluster& cluster, const std::function<std::string(const std::string&)>& machine_of);

  // ZooKeepers first, as they must be started.
  std::vector<Process*> All();

  std::vector<Process> zookeepers;
  std::vector<Process> managers;
  std::vector<Process> relays;
  std::vector<Process> servers;
};

}  // namespace shardmanager::testing
