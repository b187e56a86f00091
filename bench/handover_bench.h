// The two parts of scripts/bench handover.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager {

struct HandoverFlags {
  std::string folder = "build/handover";
  bool callback = false;  // servers use gRPC's callback API
  // hold
  int moves = 300;
  int calls_per_s = 1'000;
  // rate
  int servers = 60;
  int shards = 10'000;
  int rounds = 10;
};

inline std::vector<std::string> CounterProgram(const local::Cluster& cluster,
                                               const HandoverFlags& flags) {
  std::vector<std::string> program = {cluster.Bin("counter")};
  if (flags.callback) program.emplace_back("--callback");
  return program;
}

// Lines "FIGURE ...". Errors carry the ends of the logs.
absl::StatusOr<std::vector<std::string>> MeasureHold(const HandoverFlags& flags);
absl::StatusOr<std::vector<std::string>> MeasureRate(const HandoverFlags& flags);

}  // namespace shardmanager
