// Several faults at a time, of any kind, that begin and end as they like; then calm, in
// which all must be served again.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "cluster.h"
#include "tests/integration/chaos/experiment.h"
#include "tests/integration/chaos/faults.h"
#include "tests/integration/chaos/fleet.h"
#include "tests/support/kv_client.h"

namespace shardmanager::testing {

struct StormOptions {
  uint64_t seed = 1;
  int shards = 0;
  local::Network* network = nullptr;  // OPTIONAL. Without it processes are hit only.
};

// All choices come from the seed (their timing, and who leads, from the machine).
class Storm : public Experiment {
 public:
  // REQUIRES: all of the cluster runs. Each of `clients` must see every shard served.
  Storm(local::Cluster& cluster, Fleet fleet, std::vector<KvClient*> clients,
        const StormOptions& options);

  absl::Status Round() override;
  // Every relay and every shardmanagerd has one map, in which all servers have their
  // share; nothing is on its way in what is stored.
  absl::Status AwaitRest() override;
  std::string Summary() const override;

 private:
  using Milliseconds = std::chrono::milliseconds;

  // Begins and ends them, each at its time.
  absl::Status Play(const std::vector<Fault>& faults);
  // Whoever ended by itself is started again, as a cluster manager would.
  absl::Status Revive();
  absl::Status ExpectServed();
  bool AtRest(std::string* why) const;

  Milliseconds Between(Milliseconds from, Milliseconds to);
  void Tell(const std::string& line) const;

  local::Cluster& cluster_;
  Fleet fleet_;
  const std::vector<KvClient*> clients_;
  const StormOptions options_;
  Random random_;
  Faults faults_;
  const TimePoint start_;
  struct Map {
    std::string of;
    std::unique_ptr<local::MapWatcher> watcher;
  };
  std::vector<Map> maps_;
  int rounds_ = 0;
  int played_ = 0;
  int revived_ = 0;
  Milliseconds slowest_{0};
};

}  // namespace shardmanager::testing
