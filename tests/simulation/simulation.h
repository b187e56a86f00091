// One run of a whole cell from one seed: all cores and drivers of production on
// virtual time, under faults, and then without. The same seed gives the same run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/time.h"

namespace shardmanager::simulation {

struct SimulationOptions {
  uint64_t seed = 1;
  // 0: drawn from the seed.
  int servers = 0;
  int shards = 0;
  Duration chaos = Seconds(60);
  bool faults = true;
  // What a restart takes from shards is checked during the faults, too. A leader that has not heard
  // of a loss yet fails that check (docs/simulation.md).
  bool strict_restarts = false;
  // Within this long after the faults have ended everything must be well and at rest.
  Duration patience = Seconds(150);
  // A line for each thing of note; may be empty.
  std::function<void(const std::string&)> trace;
  // The trace has the log of all programs, too.
  bool log = false;
};

struct SimulationResult {
  std::string violation;  // empty: none
  uint64_t digest = 0;
  Duration simulated{};
  uint64_t events = 0;
  uint64_t faults = 0;
  uint64_t calls = 0;
  uint64_t answered = 0;
  Duration converged_after{};  // the faults had ended
};

SimulationResult Simulate(const SimulationOptions& options);

}  // namespace shardmanager::simulation
