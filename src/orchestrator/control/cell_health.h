// How the cell is, as this process sees it: for metrics, `shardctl status` and health checks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/map_version.h"
#include "orchestrator/control/cell_session.h"
#include "orchestrator/control/leadership.h"
#include "orchestrator/control/led_apps.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// One app, as its leader sees it.
struct AppNow {
  std::string name;
  bool known = false;  // its records were read: what follows counts
  v1::AppHealth health;
  uint32_t shards = 0;
  uint32_t replicas_wanted = 0;
  uint32_t replicas_serving = 0;
  v1::MapVersion map;
};

struct CellHealth {
  std::string cell;
  bool leading = false;       // and can prove it
  bool in_touch = false;      // the store answers; what follows of other processes is known
  bool connected = false;     // there is a connection to the store now
  Duration silent_for{};      // the store, since its last answer
  Duration session_age{};     // 0: there is no session
  Duration led_for{};         // of the leader
  uint64_t leader_epoch = 0;  // of the leader; 0: unknown
  std::string leader;         // where the leader answers; "": unknown
  // Of the leader alone:
  std::vector<AppNow> apps;
  std::vector<v1::Problem>
      problems;  // the worst first; at most kMostProblems, and one that says how many more
};

inline constexpr size_t kMostProblems = 100;

// On the executor's thread. Looks at all shards (health.h).
CellHealth LookAtCell(const CellSession& session, const Leadership& leadership, LedApps& apps,
                      TimePoint now);

}  // namespace shardmanager::orchestrator
