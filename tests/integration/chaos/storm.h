// Several faults at a time, of any kind, that begin and end as they like; then calm, in
// which all must be served again.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/random.h"
#include "base/time.h"
#include "tests/integration/chaos/experiment.h"
#include "tests/integration/chaos/faults.h"
#include "tests/integration/chaos/fleet.h"
#include "tests/integration/chaos/lasting.h"
#include "tests/local_cluster/cluster.h"
#include "tests/support/kv_client.h"

namespace shardmanager::testing {

struct StormOptions {
  uint64_t seed = 1;
  int shards = 0;
  int replicas = 1;                   // of each shard
  local::Network* network = nullptr;  // OPTIONAL. Without it processes are hit only.
  std::set<LastingKind> lasting;      // LastingKind::kCut REQUIRES a network
  // From the end of a round's last fault until all shards are served: the default is far more
  // than a busy machine needs, and less than something that hangs does.
  std::chrono::milliseconds served_within{60'000};
};

// All choices come from the seed (their timing, and who leads, from the machine).
class Storm : public Experiment {
 public:
  // REQUIRES: all of the cluster runs. Each of `clients` must see every shard served.
  Storm(local::Cluster& cluster, Fleet fleet, std::vector<KvClient*> clients,
        const StormOptions& options);

  absl::Status Round() override;
  // Every relay and every shardmanagerd has one map, in which each shard has all its replicas
  // and all healthy servers have their share; nothing is on its way in what is stored. A
  // shardmanagerd that is cut off from ZooKeeper has no say, and claims none.
  absl::Status AwaitRest() override;
  std::string Summary() const override;

 private:
  using Milliseconds = std::chrono::milliseconds;

  // If one is due, at rest: whether one began.
  absl::StatusOr<bool> BeginLasting();
  // Begins and ends them, each at its time.
  absl::Status Play(const std::vector<Fault>& faults);
  // Whoever ended by itself is started again, as a cluster manager would.
  absl::Status Revive();
  absl::Status ExpectServed();
  bool AtRest(std::string* why) const;
  bool HasItsShare(const local::MapView& view) const;
  // Whoever leads finds nothing missing, and who is cut off does not answer as the leader.
  bool LeaderContent(std::string* why) const;

  Milliseconds Between(Milliseconds from, Milliseconds to);
  void Tell(const std::string& line) const;

  local::Cluster& cluster_;
  Fleet fleet_;
  const std::vector<KvClient*> clients_;
  const StormOptions options_;
  Random random_;
  Faults faults_;
  LastingFaults lasting_;
  const TimePoint start_;
  struct Map {
    std::string of;
    std::unique_ptr<local::MapWatcher> watcher;
  };
  std::vector<Map> maps_;
  int rounds_ = 0;
  int played_ = 0;
  int revived_ = 0;
  int lasting_begun_ = 0;
  Milliseconds slowest_{0};
  Milliseconds slowest_rest_{0};
};

}  // namespace shardmanager::testing
