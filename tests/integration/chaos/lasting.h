// Faults that nobody mends: the cluster must do without what they hit.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/random.h"
#include "tests/integration/chaos/faults.h"
#include "tests/integration/chaos/fleet.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager::testing {

enum class LastingKind {
  kGone,  // a quarter of the servers: each is killed (SIGKILL) and never started again
  kSick,  // one server: it is started again, but cannot open the file of any shard
  kCut,   // the leading shardmanagerd is cut off from ZooKeeper, until its successor is
};

// The folder of this server's shards in a cluster whose disks can break: a link to
// data_folder(), made by MakeDisk(), which a sick server finds changed.
std::string DiskOf(const local::Cluster& cluster, const std::string& server);
absl::Status MakeDisk(const local::Cluster& cluster, const std::string& server);

// All choices come from `random`; who leads, from the cluster. Not thread-safe.
class LastingFaults {
 public:
  // kSick REQUIRES that each server was started with its DiskOf(); kCut, that there is a network.
  LastingFaults(local::Cluster& cluster, Fleet& fleet, Faults& faults, Random& random,
                const std::set<LastingKind>& kinds);

  // Whether one begins in the next round.
  bool Due() const { return !to_come_.empty(); }
  // Begins one; what it is. Servers that are gone leave the fleet, so that no other fault starts
  // them again. `shards`: all their names.
  // REQUIRES: all is at rest, so that no server has the only good copy of a shard.
  absl::StatusOr<std::string> Begin(const std::vector<std::string>& shards);
  // At the end of each round.
  void EndRound();

  // Servers that run and can serve shards.
  std::set<std::string> Healthy() const;
  // The index of the shardmanagerd that is cut off from ZooKeeper now.
  std::optional<size_t> cut_off() const { return cut_off_; }

 private:
  Process& AnyHealthy();
  std::string LoseServer();
  absl::StatusOr<std::string> BreakDisk(const std::vector<std::string>& shards);
  absl::StatusOr<std::string> CutLeader();

  local::Cluster& cluster_;
  Fleet& fleet_;
  Faults& faults_;
  Random& random_;
  const bool cuts_;
  std::vector<LastingKind> to_come_;  // the next one last
  std::optional<std::string> sick_;
  std::optional<size_t> cut_off_;
  int rounds_of_cut_ = 0;
};

}  // namespace shardmanager::testing
