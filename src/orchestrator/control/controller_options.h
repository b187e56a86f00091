#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "orchestrator/shell/ports.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {

// Of one process of the control plane.
struct ControllerOptions {
  // Written if the cell does not exist yet; what is stored wins.
  v1::CellConfig cell;
  // Who we are, for people: "host/pid".
  std::string process;
  // False: ZooKeeper's minSessionTimeout was set by hand, and says nothing of its tickTime.
  bool min_session_timeout_tells_tick = true;
  // Somebody named the time-outs in `cell`: it is said if the cell there is was made with others.
  bool timeouts_were_named = false;
  // The time of day. Also for CellConfig.made_ms of a cell that this process makes: asked when it
  // does, as a process that has run for long may find the store emptied. Empty: of this machine,
  // and made_ms as `cell` has it.
  std::function<int64_t()> wall_ms = nullptr;
  // What clients say of servers. Empty: nobody is drained for it.
  ClientViewsPort client_views = nullptr;
  // Outlives the controller. Null: nothing is measured.
  Meter* meter = nullptr;
};

}  // namespace shardmanager::orchestrator
