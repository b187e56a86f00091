// A real ZooKeeper of our own, for the quickstart, `--dev` and the tests.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/child_process.h"

namespace shardmanager {

struct PrivateZookeeperOptions {
  // REQUIRED. Where it keeps its data and its log ("zookeeper.log"); made if absent.
  std::string data_dir;
  // On 127.0.0.1. 0: one that is free.
  int port = 0;
  // Its tickTime. Session time-outs are granted between two ticks and one minute.
  int tick_ms = 200;
  // Whether a write is on disk before it is acknowledged. Without it, what was
  // acknowledged survives a kill of the process but not of the machine.
  bool force_sync = true;
};

// A single ZooKeeper server as a child java process, listening on 127.0.0.1 only.
// It dies with this object and with this process, however that dies.
// Needs Debian's packages zookeeper (or libzookeeper-java) and a JRE.
// Not thread-safe.
class PrivateZookeeper {
 public:
  // Returns once it answers. Errors: FAILED_PRECONDITION, java or ZooKeeper is not
  // installed; UNAVAILABLE, it did not start (with the end of its log).
  static absl::StatusOr<std::unique_ptr<PrivateZookeeper>> Start(PrivateZookeeperOptions options);

  // "127.0.0.1:<port>".
  std::string connect_string() const;
  int port() const { return options_.port; }
  pid_t pid() const { return process_.pid(); }

  // SIGTERM, and waits for the end.
  void Stop();
  // SIGKILL, and waits for the end.
  void Kill();
  // Starts it again after Stop or Kill (or stops it first), with the same port and
  // data: sessions and nodes are as they were.
  absl::Status Restart();
  // SIGSTOP and SIGCONT: alive but silent.
  void Pause();
  void Resume();

 private:
  explicit PrivateZookeeper(PrivateZookeeperOptions options) : options_(std::move(options)) {}

  absl::Status Launch();
  absl::Status WriteConfig() const;
  absl::Status WaitUntilServing();

  PrivateZookeeperOptions options_;
  ChildProcess process_;
};

}  // namespace shardmanager
