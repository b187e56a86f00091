// What breaks a cluster, round after round.
#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"

namespace shardmanager::testing {

class Experiment {
 public:
  virtual ~Experiment() = default;

  // One round, which begins with everything up and ends so. An error: the cluster did
  // not stand it.
  virtual absl::Status Round() = 0;
  // After the last round: everything comes to rest as it should be.
  virtual absl::Status AwaitRest() = 0;
  // What was seen, for people, and its FIGURE lines.
  virtual std::string Summary() const = 0;

  // How often each server was stopped (SIGSTOP): only these may have met the fence.
  const std::map<std::string, int>& stops() const { return stops_; }

 protected:
  std::map<std::string, int> stops_;
};

}  // namespace shardmanager::testing
