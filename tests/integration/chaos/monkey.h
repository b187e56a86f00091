// Breaks things at random, one round after another, and demands after each that
// every shard is served again in time.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/random.h"
#include "base/time.h"
#include "cluster.h"
#include "tests/support/kv_client.h"

namespace shardmanager::testing {

// All choices come from the seed (their timing, from the machine).
class Monkey {
 public:
  Monkey(local::Cluster& cluster, KvClient& client, int shards, uint64_t seed);

  // One round, which begins with everything up and ends so. An error: a shard was
  // not served in time, or something did not come back.
  absl::Status Round();

  // Servers that were ever stopped (SIGSTOP): only these may have met the fence.
  const std::set<std::string>& stopped() const { return stopped_; }
  std::chrono::milliseconds slowest_failover() const { return slowest_failover_; }
  int rounds() const { return rounds_; }

 private:
  using Milliseconds = std::chrono::milliseconds;

  struct Trick {
    const char* name;
    absl::Status (Monkey::*play)();
  };
  static const std::vector<Trick>& Tricks();

  absl::Status KillServer();
  absl::Status KillTwoServers();
  absl::Status RestartServerAtOnce();
  absl::Status StopServerPolitely();
  absl::Status PauseServer();
  absl::Status RestartZookeeper();
  absl::Status RestartControlPlane();
  absl::Status LoseServerWithoutControlPlane();
  absl::Status PauseControlPlane();
  absl::Status RestartDiscovery();

  // Every shard answers within `bound`, but for those in `except`.
  absl::Status ExpectServed(const std::string& after, Milliseconds bound,
                            const std::set<int>& except = {});
  // A loss: detection and a second.
  absl::Status ExpectFailover(const std::string& after, const std::set<int>& except = {});
  // All servers hold as many shards as the others, give or take one.
  absl::Status AwaitBalance();
  absl::Status Restart(const std::string& server);
  absl::Status AwaitLive(const std::string& server, TimePoint since);

  std::string AnyServer();
  // A time in [from, to).
  Milliseconds Between(Milliseconds from, Milliseconds to);
  void Rest(Milliseconds time);
  Milliseconds session_timeout() const;
  void Tell(const std::string& line);

  local::Cluster& cluster_;
  KvClient& client_;
  const int shards_;
  Random random_;
  const TimePoint start_;
  std::unique_ptr<local::EventWatcher> events_;
  std::unique_ptr<local::MapWatcher> map_;
  std::set<std::string> stopped_;
  Milliseconds slowest_failover_{0};
  int rounds_ = 0;
  std::vector<const Trick*> deck_;  // tricks still to come, the next one last
};

}  // namespace shardmanager::testing
