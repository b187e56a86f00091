// What operators do to a cluster that works: drains, and restarts of drained servers. No client may
// notice. (Monkey stops servers that hold shards.)
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/random.h"
#include "base/time.h"
#include "tests/integration/chaos/experiment.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager::testing {

// The choices come from the seed.
class Planned : public Experiment {
 public:
  // REQUIRES: all of the cluster runs.
  Planned(local::Cluster& cluster, uint64_t seed);

  // One event, which begins with everything up and in balance, and ends so.
  absl::Status Round() override;
  absl::Status AwaitRest() override;
  std::string Summary() const override;

 private:
  // All servers, one after the other: drained, SIGTERM, started again, used again.
  absl::Status RestartDrainedServers();
  absl::Status DrainServer(const std::string& server);
  absl::Status RestartControlPlane();

  absl::Status Drain(const std::string& server);
  absl::Status Undrain(const std::string& server);
  // SIGTERM, and started again at once.
  absl::Status StopAndStart(const std::string& server);
  std::string AnyServer();
  void Tell(const std::string& line) const;

  local::Cluster& cluster_;
  Random random_;
  const TimePoint start_;
  std::unique_ptr<local::EventWatcher> events_;
  std::unique_ptr<local::MapWatcher> map_;
  int rounds_ = 0;
  int restarts_ = 0;
  int drains_ = 0;
};

}  // namespace shardmanager::testing
