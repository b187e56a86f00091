// Breaks things at random, one round after another, and demands after each that
// every shard is served again in time.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/random.h"
#include "base/time.h"
#include "tests/integration/chaos/experiment.h"
#include "tests/local_cluster/cluster.h"
#include "tests/support/kv_client.h"

namespace shardmanager::testing {

// All choices come from the seed (their timing, from the machine).
class Monkey : public Experiment {
 public:
  // `client` hears the map from the relay, `direct` from the control plane itself.
  Monkey(local::Cluster& cluster, KvClient& client, KvClient& direct, int shards, uint64_t seed);

  // One round, which begins with everything up and ends so. An error: a shard was
  // not served in time, or something did not come back.
  absl::Status Round() override;
  absl::Status AwaitRest() override { return AwaitBalance(); }
  std::string Summary() const override;

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
  absl::Status PauseServerBehindOldMaps();
  absl::Status RestartZookeeper();
  absl::Status PauseZookeeper();
  absl::Status RestartControlPlane();
  absl::Status LoseServerWithoutControlPlane();
  absl::Status PauseControlPlane();
  absl::Status RestartDiscovery();

  // Stops it; the shards that nobody can serve until it goes on.
  std::set<int> Pause(const std::string& server);
  // Every shard answers within `bound`, but for those in `except`.
  absl::Status ExpectServed(KvClient& client, const std::string& after, Milliseconds bound,
                            const std::set<int>& except = {});
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
  KvClient& direct_;
  const int shards_;
  Random random_;
  const TimePoint start_;
  std::unique_ptr<local::EventWatcher> events_;
  std::unique_ptr<local::MapWatcher> map_;
  Milliseconds slowest_failover_{0};
  int rounds_ = 0;
  std::vector<const Trick*> deck_;  // tricks still to come, the next one last
};

}  // namespace shardmanager::testing
