// Private ZooKeeper servers: one alone, or an ensemble.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coordination/zookeeper/private_zookeeper.h"

namespace shardmanager::local {

struct EnsembleOptions {
  std::string folder;  // REQUIRED. Data and logs, a folder below for each server.
  int tick_ms = 200;
  int sync_limit_ticks = 10;
  // Where each of them listens, and the network namespace that it runs in.
  std::vector<EnsembleMember> members;
  std::vector<int> network_namespaces;
};

// Not thread-safe.
class Ensemble {
 public:
  explicit Ensemble(EnsembleOptions options);

  // Starts those that do not run; returns once all of them serve.
  absl::Status Start();
  // Starts one that does not run, and does not wait.
  absl::Status Start(size_t member);

  size_t size() const { return options_.members.size(); }
  // REQUIRES: it was started.
  PrivateZookeeper& member(size_t i) { return *servers_[i]; }
  // The one that leads, as far as it can be reached and says so.
  std::optional<size_t> Leader() const;
  // Client connections: all of them, or this one.
  std::string connect_string() const;
  std::string connect_string(size_t member) const;

 private:
  PrivateZookeeperOptions OptionsOf(size_t member) const;

  const EnsembleOptions options_;
  std::vector<std::unique_ptr<PrivateZookeeper>> servers_;
};

}  // namespace shardmanager::local
