// The two parts of scripts/bench handover.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager {

struct HandoverFlags {
  std::string folder = "build/handover";
  bool callback = false;  // servers use gRPC's callback API
  bool insecure = false;  // connections have no TLS
  // hold
  int moves = 60;
  int calls_per_s = 1'000;
  // rate
  int servers = 60;
  int shards = 10'000;
  int rounds = 10;
};

// A shard whose primary changed is not moved again for 5 s: clients must know the new primary
// first. A drain that is ordered sooner waits, and with it what is measured.
inline constexpr std::chrono::milliseconds kUntilItMayMove{5'500};

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
