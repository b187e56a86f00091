// A real ZooKeeper of our own, for the quickstart, `--dev` and the tests.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/child_process.h"

namespace shardmanager {

// One server of an ensemble: where it listens.
struct EnsembleMember {
  std::string host = "127.0.0.1";
  int client_port = 2181;
  int follower_port = 2888;  // followers to their leader
  int election_port = 3888;
};

struct PrivateZookeeperOptions {
  // REQUIRED. Where it keeps its data and its log ("zookeeper.log"); made if absent.
  std::string data_dir;
  // On 127.0.0.1. 0: one that is free.
  int port = 0;
  // Its tickTime. Session time-outs are granted from two ticks on.
  int tick_ms = 200;
  // The longest one that is granted. 0: ZooKeeper's default, 20 ticks.
  int max_session_timeout_ms = 60'000;
  // Whether a write is on disk before it is acknowledged. Without it, what was
  // acknowledged survives a kill of the process but not of the machine.
  bool force_sync = true;

  // OPTIONAL. Of an ensemble: all its servers, the same list for each of them, and
  // which of them this is. `port` does not count then.
  std::vector<EnsembleMember> ensemble;
  size_t self = 0;
  // A follower that hears nothing of its leader for so many ticks gives it up, and so
  // does the leader with a silent follower.
  int sync_limit_ticks = 10;
  // A network namespace to run in, as an open file; negative: ours.
  int network_namespace = -1;
};

// A ZooKeeper server as a child java process: a single one, listening on 127.0.0.1 only,
// or one of an ensemble, each of which is such an object.
// It dies with this object and with this process, however that dies.
// Needs Debian's packages zookeeper (or libzookeeper-java) and a JRE.
// Not thread-safe.
class PrivateZookeeper {
 public:
  // Returns once it answers; one of an ensemble at once, as it serves only when most of
  // the others run, too (AwaitServing). Errors: FAILED_PRECONDITION, java or ZooKeeper is
  // not installed; UNAVAILABLE, it did not start (with the end of its log).
  static absl::StatusOr<std::unique_ptr<PrivateZookeeper>> Start(PrivateZookeeperOptions options);

  // "127.0.0.1:<port>": this server alone.
  std::string connect_string() const;
  int port() const { return options_.port; }
  pid_t pid() const { return process_.pid(); }
  bool running() { return process_.running(); }
  // As ChildProcess::Wait.
  std::optional<int> Wait(std::chrono::milliseconds timeout) { return process_.Wait(timeout); }

  // What it says that it is: "standalone", "leader", "follower"; empty while it does
  // not serve, or cannot be reached.
  std::string Mode() const;
  absl::Status AwaitServing();

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
  const std::string& host() const;

  PrivateZookeeperOptions options_;
  ChildProcess process_;
};

}  // namespace shardmanager
