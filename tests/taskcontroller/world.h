// A small world for the task controller's core: a fleet, cluster managers that restart its servers,
// a store, leaders that come and go, all drawn from one seed on virtual time; and a checker that
// knows the truth.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "taskcontroller/core/task_controller.h"
#include "tests/taskcontroller/fleet.h"

namespace shardmanager::taskcontroller {

struct WorldOptions {
  uint64_t seed = 1;
  bool faults = true;
  bool trace = false;  // prints what happens
};

struct WorldResult {
  std::vector<std::string> violations;
  uint32_t restarts = 0;  // of servers, by operations
  uint32_t withdrawn = 0;
  uint32_t crashes = 0;  // of servers
  uint32_t leaders = 0;
};

// Every manager restarts every server of its region once, while things fail; then all faults end,
// and everything must come to its end.
WorldResult RunWorld(const WorldOptions& options);

}  // namespace shardmanager::taskcontroller
